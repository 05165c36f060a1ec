"""Answers to server requests: a respondent is asked under a deadline, and its answer is checked before it is sent."""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from bascule.catalog.schema.validator import NOT_JSON, Validator
from bascule.core.client_features import Accept, Cancel, Decline, Elicitation, Respondent, Root, Sampled
from bascule.core.errors import Refused
from bascule.core.json_types import JsonObject, as_object, is_object
from bascule.core.principal import Principal
from bascule.runtime.approvals.callback import put_to
from bascule.runtime.server_requests.parse import ELICIT, ROOTS, SAMPLE, Read, check_offered, read_question
from bascule.wire.input_required import Question

_log = logging.getLogger("bascule.runtime")

LONGEST_WAIT = 300.0
"""Seconds for one answer. A person who has not answered by then has left; the request that led to the question usually
ends sooner, by its own limit."""

MAX_ANSWER = 4 * 1024 * 1024
"""Bytes of one answer: room for a picture, and well below what servers take."""

MOST_ROOTS = 1000
"""Roots in one answer. More are nobody's folders."""

_encode = msgspec.json.Encoder().encode


class Answered(msgspec.Struct, frozen=True):
    """An answer as it travels, and the word an event has for it."""

    word: str
    result: JsonObject


async def answer(
    respondent: Respondent, server: str, principal: Principal, question: Question, limit: float
) -> Answered:
    """The answer to one question. Raises `Refused` where there is none, and `ProtocolViolation` for a question that
    cannot be put to anyone."""
    wait = min(limit, LONGEST_WAIT)
    check_offered(server, respondent, question)
    read = read_question(server, principal, question)
    match question.method:
        case "elicitation/create":
            return await _elicit(respondent, read, wait)
        case "sampling/createMessage":
            return await _sample(respondent, read, wait)
        case _:
            return await _list_roots(respondent, read, wait)


async def _elicit(respondent: Respondent, read: Read, wait: float) -> Answered:
    assert respondent.on_elicit is not None
    assert isinstance(read.question, Elicitation)
    said = await put_to(respondent.on_elicit, read.question, wait)
    match said:
        case Accept(content=content):
            result = _accepted(read.question, content, read.validator)
        case Decline() | Refused():
            result = {"action": "decline"}
        case Cancel() | None:
            result = {"action": "cancel"}
        case _:
            _log.error("on_elicit gave %s, which is none of Accept, Decline and Cancel", type(said).__name__)
            result = {"action": "decline"}
    return Answered(result["action"], result)


def _accepted(question: Elicitation, content: Mapping[str, Any], validator: Validator | None) -> JsonObject:
    if validator is None:
        return {"action": "accept"}
    fields = as_object(question.schema.get("properties"))
    defaults = {name: field["default"] for name, field in fields.items() if is_object(field) and "default" in field}
    filled = {**defaults, **content}
    if not validator.is_valid(filled):
        _log.error("the answer of on_elicit does not fit what %s asked for; it was not sent", question.server)
        return {"action": "decline"}
    return _bounded({"action": "accept", "content": filled}) or {"action": "decline"}


async def _sample(respondent: Respondent, read: Read, wait: float) -> Answered:
    assert respondent.on_sample is not None
    said = await put_to(respondent.on_sample, read.question, wait)
    result = _sampled(said) if isinstance(said, Sampled) else None
    if result is None:
        if said is not None and not isinstance(said, Sampled | Refused):
            _log.error("on_sample gave %s, which is not Sampled", type(said).__name__)
        raise _no_answer(f"{read.question.server} asked for a model's words, and got none")
    return Answered("sampled", result)


def _sampled(said: Sampled) -> JsonObject | None:
    content = {"type": "text", "text": said.content} if isinstance(said.content, str) else said.content
    result: JsonObject = {"role": "assistant", "content": content, "model": said.model}
    if said.stop_reason is not None:
        result["stopReason"] = said.stop_reason
    return _bounded(result)


async def _list_roots(respondent: Respondent, read: Read, wait: float) -> Answered:
    assert respondent.on_roots is not None
    said: Any = await put_to(respondent.on_roots, read.question, wait)
    result = _roots(said) if isinstance(said, list | tuple) else None
    if result is None:
        if said is not None and not isinstance(said, Refused):
            _log.error("on_roots gave no list of roots; it was not sent")
        raise _no_answer(f"{read.question.server} asked for the roots, and got none")
    return Answered("listed", result)


def _roots(said: Any) -> JsonObject | None:
    if len(said) > MOST_ROOTS or not all(_is_root(each) for each in said):
        return None
    listed = [{"uri": root.uri, "name": root.name} if root.name is not None else {"uri": root.uri} for root in said]
    return _bounded({"roots": listed})


def _is_root(value: Any) -> bool:
    """The protocol has roots of no other scheme."""
    if not isinstance(value, Root):
        return False
    uri: Any = value.uri
    name: Any = value.name
    return isinstance(uri, str) and uri.startswith("file://") and isinstance(name, str | None)


def _bounded(result: JsonObject) -> JsonObject | None:
    """The answer out of everyone's reach, or nothing if it is not JSON or too large."""
    try:
        data = _encode(result)
    except NOT_JSON as error:
        _log.error("an answer is not JSON (%s); it was not sent", error)
        return None
    if len(data) > MAX_ANSWER:
        _log.error("an answer has %d bytes, more than %d; it was not sent", len(data), MAX_ANSWER)
        return None
    return msgspec.json.decode(data)


def _no_answer(words: str) -> Refused:
    return Refused(words, rule="question_is_answered")


__all__ = ["ELICIT", "LONGEST_WAIT", "MAX_ANSWER", "ROOTS", "SAMPLE", "Answered", "Respondent", "answer"]
