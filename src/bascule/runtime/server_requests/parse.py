"""Parser of server requests (elicitation, sampling, roots), which rejects those that no respondent can answer."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from bascule.catalog.schema.validator import Validator, compile_schema
from bascule.core.client_features import Elicitation, Respondent, RootsAsked, Sampling
from bascule.core.errors import ProtocolViolation, Refused
from bascule.core.json_types import JsonObject, as_text, is_array, is_object
from bascule.core.principal import Principal
from bascule.wire.input_required import Question

ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"

CALLBACKS = {ELICIT: "on_elicit", SAMPLE: "on_sample"}
"""Which callback would have answered what a person or a model is asked."""

AnyQuestion = Elicitation | Sampling | RootsAsked


class Read(msgspec.Struct, frozen=True):
    """A question that can be put to somebody."""

    question: AnyQuestion
    validator: Validator | None = None
    """What a form's answer has to pass."""


def answers(respondent: Respondent, question: Question) -> bool:
    """Whether it offers to answer this kind of question."""
    params = question.params
    match question.method:
        case "elicitation/create":
            by_form = params.get("mode", "form") != "url"
            return respondent.on_elicit is not None and (respondent.forms if by_form else respondent.addresses)
        case "sampling/createMessage":
            return respondent.on_sample is not None and (respondent.tools or not wants_tools(params))
        case "roots/list":
            return respondent.on_roots is not None
        case _:
            return False


def wants_tools(params: JsonObject) -> bool:
    return bool(params.get("tools") or params.get("toolChoice"))


def check_offered(server: str, respondent: Respondent, question: Question) -> None:
    """Raises `Refused` where there is nobody who could answer, and `ProtocolViolation` for what nobody ever could."""
    if answers(respondent, question):
        return
    callback = CALLBACKS.get(question.method)
    if callback is not None and getattr(respondent, callback) is None:
        raise _nobody(server, question, callback)
    raise _never_offered(server, _kind(question))


def read_question(server: str, principal: Principal, question: Question) -> Read:
    """Raises `ProtocolViolation` for a question that cannot be put to anyone."""
    return _READERS[question.method](server, principal, question.params)


def _read_elicitation(server: str, principal: Principal, params: JsonObject) -> Read:
    message, mode = as_text(params.get("message")), params.get("mode", "form")
    if message is None:
        raise bad_question(server, "has no message")
    if mode == "url":
        return Read(Elicitation(server, principal, message, "url", url=_address(server, params), raw=params))
    schema = params.get("requestedSchema")
    if mode != "form" or not is_object(schema) or schema.get("type", "object") != "object":
        raise bad_question(server, "has no schema of an object")
    schema = {**schema, "type": "object"}
    return Read(Elicitation(server, principal, message, "form", schema, raw=params), compile_schema(schema))


def _address(server: str, params: JsonObject) -> str:
    url = as_text(params.get("url")) or ""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise bad_question(server, "has an address that cannot be read") from None
    # Whatever opens this for a person might run, or read a file, for another scheme.
    if parts.scheme not in {"http", "https"} or not parts.netloc or not url.isprintable():
        raise bad_question(server, f"has an address that no browser should open: {url[:80]!r}")
    return url


def _read_sampling(server: str, principal: Principal, params: JsonObject) -> Read:
    if not is_array(params.get("messages")):
        raise bad_question(server, "has no messages")
    return Read(Sampling(server, principal, params))


def _read_roots(server: str, principal: Principal, _params: JsonObject) -> Read:
    return Read(RootsAsked(server, principal))


_READERS: dict[str, Callable[[str, Principal, Any], Read]] = {
    ELICIT: _read_elicitation,
    SAMPLE: _read_sampling,
    ROOTS: _read_roots,
}


def bad_question(server: str, problem: str) -> ProtocolViolation:
    return ProtocolViolation(f"a question of {server} {problem}", where="call")


def _never_offered(server: str, what: str) -> ProtocolViolation:
    return ProtocolViolation(f"{server} asks for {what!r}, which was never offered", where="call")


def _kind(question: Question) -> str:
    match question.method:
        case "sampling/createMessage":
            return f"{SAMPLE} with tools"
        case "elicitation/create":
            return f"{ELICIT} by {'an address' if question.params.get('mode') == 'url' else 'a form'}"
        case other:
            return other[:80]


def _nobody(server: str, question: Question, callback: str) -> Refused:
    words = as_text(question.params.get("message")) or question.method
    return Refused(
        f"{server} asks, before it goes on: {words[:200]}",
        rule="somebody_can_be_asked",
        evidence=f"{question.method}, and there is no {callback}",
        fix=f"answer with an `{callback}` callback, or a client that offers to, or pass what is needed as arguments",
    )
