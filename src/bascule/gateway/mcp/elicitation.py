"""Elicitation, sampling and roots requests of servers: sends them to the request's MCP client, parses its answers."""

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from bascule.core.client_features import (
    Accept,
    Cancel,
    Continued,
    Decline,
    ElicitAnswer,
    Elicitation,
    Respondent,
    Root,
    RootsAsked,
    Sampled,
    Sampling,
)
from bascule.core.json_types import JsonObject, as_object, as_text, is_array, is_object
from bascule.runtime.server_requests.parse import ELICIT, ROOTS, SAMPLE
from bascule.wire.jsonrpc import Message
from bascule.wire.task import speaks_tasks

_log = logging.getLogger("bascule.gateway")

Ask = Callable[[str, JsonObject], Awaitable[Any]]
"""Puts a question to a client, and gives its answer as it came. Raises `NotAnswered`."""


SendAway = Callable[[str, str], str]
"""Gives the id by which a client will hear that a person has finished at an address: for a server, and the id that has
given it."""


class NotAnswered(Exception):
    """A client that answered with an error, or that could not be asked."""


def answered(message: Message) -> Any:
    """What a client answered to a request of ours. Raises `NotAnswered` for an error."""
    if message.error is not msgspec.UNSET:
        raise NotAnswered(str(as_object(message.error).get("message"))[:200])
    return message.result


def taken_back(name: str) -> JsonObject:
    """What a client is told of a request of ours that is of no use any more."""
    return {"requestId": name, "reason": "nobody waits for it"}


class Asker:
    """One client, asked in the words of its era. What it answers is checked by whoever wanted to know."""

    def __init__(self, ask: Ask, send_away: SendAway | None = None) -> None:
        """`send_away` is of clients of the old era, and of no others."""
        self._ask = ask
        self._send_away = send_away

    async def elicit(self, question: Elicitation) -> ElicitAnswer:
        params = {key: value for key, value in question.raw.items() if key not in _OTHER_ERAS}
        if self._send_away is not None and question.mode == "url":
            theirs = as_text(question.raw.get("elicitationId"))
            # The old era wants one, and servers of the new one have none.
            params["elicitationId"] = self._send_away(question.server, theirs) if theirs else secrets.token_urlsafe(16)
        return accepted(await self._answer(ELICIT, params))

    async def sample(self, question: Sampling) -> Sampled | None:
        params = {key: value for key, value in question.params.items() if key not in _OTHER_ERAS}
        return sampled(await self._answer(SAMPLE, params))

    async def roots(self, _question: RootsAsked) -> list[Root] | None:
        return listed(await self._answer(ROOTS, {}))

    async def _answer(self, method: str, params: JsonObject) -> JsonObject:
        try:
            return as_object(await self._ask(method, params))
        except NotAnswered as error:
            _log.info("a client did not answer %s: %s", method, error)
            return {}


_OTHER_ERAS = frozenset({"elicitationId", "task", "_meta"})
"""What only one era has, or is between us and the server alone."""


def respondent_of(
    offered: Mapping[str, Any],
    ask: Ask,
    send_away: SendAway | None = None,
    *,
    passes_on: bool = False,
    continued: Continued | None = None,
) -> Respondent:
    """A client as a respondent; with `send_away`, one of the old era. What it does not offer it is never asked."""
    asker = Asker(ask, send_away)
    elicitation, sampling = offered.get("elicitation"), offered.get("sampling")
    modes = as_object(elicitation)
    return Respondent(
        asker.elicit if is_object(elicitation) else None,
        asker.sample if is_object(sampling) else None,
        asker.roots if is_object(offered.get("roots")) else None,
        # There were only forms before there were modes.
        forms="form" in modes or "url" not in modes,
        addresses="url" in modes,
        tools="tools" in as_object(sampling),
        tasks=send_away is None and speaks_tasks(offered),
        passes_on=passes_on,
        continued=continued,
    )


def given(answer: Any) -> Respondent:
    """A client that has answered already, whatever it was asked."""

    async def ask(_method: str, _params: JsonObject) -> Any:
        return answer

    asker = Asker(ask)
    return Respondent(asker.elicit, asker.sample, asker.roots, tools=True)


def accepted(answer: JsonObject) -> ElicitAnswer:
    match answer.get("action"):
        case "accept":
            return Accept(as_object(answer.get("content")))
        case "cancel":
            return Cancel()
        case _:
            return Decline()


def sampled(answer: JsonObject) -> Sampled | None:
    content: Any = answer.get("content")
    model = answer.get("model")
    blocks: list[Any] = content if is_array(content) else [content]
    fits = all(is_object(block) and isinstance(block.get("type"), str) for block in blocks)
    if not fits or not isinstance(model, str) or answer.get("role") != "assistant":
        return None
    return Sampled(content, model, as_text(answer.get("stopReason")))


def listed(answer: JsonObject) -> list[Root] | None:
    roots = answer.get("roots")
    if not is_array(roots) or not all(is_object(root) and isinstance(root.get("uri"), str) for root in roots):
        return None
    return [Root(root["uri"], as_text(root.get("name"))) for root in roots]
