"""Operations other than tool calls: prompts, resources, completion, subscriptions and listings."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from bascule.catalog.naming import nearest_names
from bascule.catalog.pages import Listed
from bascule.core.call import Inquiry
from bascule.core.errors import InvalidArguments
from bascule.core.events import RequestEnded
from bascule.core.json_types import JsonObject
from bascule.core.outcome import CompletionResult, PageResult, PromptResult, ResourceResult
from bascule.core.prompt import PromptSpec
from bascule.core.tool import Subject
from bascule.runtime.call_state import Trail
from bascule.runtime.prepared_call import Prepared
from bascule.runtime.requests.operation import AnyResult, Operation
from bascule.runtime.session_context import Standing
from bascule.wire.results import take_completion, take_contents, take_messages, take_page


class Matter(msgspec.Struct, frozen=True):
    """What an inquiry turned out to be about."""

    spec: Subject
    prompt: PromptSpec | None = None
    """The prompt, where it is about one."""
    ref: JsonObject | None = None
    """What is completed, in the protocol's words."""


Find = Callable[[Standing, Inquiry], Awaitable[Matter]]


def reading(find: Find) -> Operation[Inquiry, Matter, ResourceResult]:
    """Reading a resource. Its URI is passed on as it is, whatever its scheme."""
    return _operation("resources/read", find, _prepare_read, take_contents)


def prompting(find: Find) -> Operation[Inquiry, Matter, PromptResult]:
    """Filling in a prompt."""
    return _operation("prompts/get", find, _prepare_prompt, take_messages)


def completing(find: Find) -> Operation[Inquiry, Matter, CompletionResult]:
    """Completing an argument of a prompt, or a blank of a template."""
    return _operation("completion/complete", find, _prepare_completion, take_completion, rounds=False)


def subscribing(find: Find) -> Operation[Inquiry, Matter, PageResult]:
    """Asking to be told when a resource changes."""
    return _about_changes("resources/subscribe", find)


def unsubscribing(find: Find) -> Operation[Inquiry, Matter, PageResult]:
    """No longer wanting to be told."""
    return _about_changes("resources/unsubscribe", find)


def _about_changes(method: str, find: Find) -> Operation[Inquiry, Matter, PageResult]:
    def prepare(matter: Matter, inquiry: Inquiry) -> Prepared:
        return _prepared(method, matter, inquiry, {"uri": matter.spec.key.tool})

    return _operation(method, find, prepare, take_page, rounds=False, counted=False)


def listing(listed: Listed, find: Find) -> Operation[Inquiry, Matter, PageResult]:
    """Asking for one page of a listing."""
    return _operation(
        listed.method, find, partial(_prepare_page, listed.method), take_page, rounds=False, counted=False
    )


def _operation(
    method: str,
    find: Find,
    prepare: Callable[[Matter, Inquiry], Prepared],
    take: Callable[..., AnyResult],
    *,
    rounds: bool = True,
    counted: bool = True,
) -> Operation[Inquiry, Matter, AnyResult]:
    def read(_standing: Standing, _matter: Matter, raw: JsonObject, trail: Trail) -> AnyResult:
        return take(raw, trail.server, trail.tool, trail.lane, trail.steps)

    event = partial(RequestEnded, method)
    return Operation(_nothing_known, find, prepare, read, event, rounds=rounds, counted=counted)


def _nothing_known(_standing: Standing, _name: str) -> None:
    """Listings are looked into every time: there is no end to what can be named."""


def _prepare_read(matter: Matter, inquiry: Inquiry) -> Prepared:
    return _prepared("resources/read", matter, inquiry, {"uri": matter.spec.key.tool})


def _prepare_prompt(matter: Matter, inquiry: Inquiry) -> Prepared:
    assert matter.prompt is not None
    _check_blanks(matter.prompt, inquiry.arguments)
    params: JsonObject = {"name": matter.spec.key.tool}
    if inquiry.arguments:
        params["arguments"] = inquiry.arguments
    return _prepared("prompts/get", matter, inquiry, params)


def _check_blanks(prompt: PromptSpec, arguments: JsonObject) -> None:
    known = [blank.name for blank in prompt.arguments]
    # A server that lists none may take some all the same: a listing need not say.
    unknown = next((name for name in arguments if name not in known), None) if known else None
    if unknown is not None:
        nearest = nearest_names(unknown, known, limit=1)
        hint = f"; did you mean '{nearest[0][:80]}'?" if nearest else ""
        raise InvalidArguments(f"{prompt.name}: there is no argument '{unknown[:80]}'{hint} — {_blanks(prompt)}")
    missing = [f"'{blank.name[:80]}'" for blank in prompt.arguments if blank.required and blank.name not in arguments]
    if missing:
        words = f"missing argument{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        raise InvalidArguments(f"{prompt.name}: {words} — {_blanks(prompt)}", fix="arguments of prompts are texts")
    wrong = [f"'{name[:80]}'" for name, value in arguments.items() if not isinstance(value, str)]
    if wrong:
        raise InvalidArguments(f"{prompt.name}: {', '.join(wrong)} must be text — {_blanks(prompt)}")


def _blanks(prompt: PromptSpec) -> str:
    shown = ", ".join(f"{blank.name[:40]}{'' if blank.required else '?'}" for blank in prompt.arguments)
    return f"{prompt.key.tool[:80]}({shown})"


def _prepare_completion(matter: Matter, inquiry: Inquiry) -> Prepared:
    given = inquiry.arguments
    wrong = [name for name in ("argument", "value") if not isinstance(given[name], str)]
    context: dict[str, Any] = given["context"]
    if wrong or not all(isinstance(value, str) for value in context.values()):
        raise InvalidArguments("what is completed, its value and its context are all texts")
    params: JsonObject = {"ref": matter.ref, "argument": {"name": given["argument"], "value": given["value"]}}
    if context:
        params["context"] = {"arguments": context}
    return _prepared("completion/complete", matter, inquiry, params)


def _prepare_page(method: str, matter: Matter, inquiry: Inquiry) -> Prepared:
    return Prepared(method, matter.spec.key.server, inquiry.arguments, inquiry.timeout, phase="list")


def _prepared(method: str, matter: Matter, inquiry: Inquiry, params: JsonObject) -> Prepared:
    return Prepared(method, matter.spec.key.server, params, inquiry.timeout, inquiry.on_progress)
