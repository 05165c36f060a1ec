"""Whoever answers what servers ask: the callbacks a program gave, under a deadline, their answers checked before they
go anywhere."""

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from bascule.catalog.validation import NOT_JSON, Validator, compile_schema
from bascule.core.answer import Accept, Cancel, Decline, Elicitation, OnElicit, OnSample, Sampled, Sampling
from bascule.core.errors import ProtocolViolation, Refused
from bascule.core.jsonvalue import JsonObject, as_object, as_text, is_array, is_object
from bascule.core.principal import Principal
from bascule.runtime.callback import put_to
from bascule.wire.input_required import Question

_log = logging.getLogger("bascule.runtime")

LONGEST_WAIT = 300.0
"""Seconds for one answer. A person who has not answered by then has left; the request that led to the question usually
ends sooner, by its own limit."""

MAX_ANSWER = 4 * 1024 * 1024
"""Bytes of one answer: room for a picture, and well below what servers take."""

ELICIT, SAMPLE = "elicitation/create", "sampling/createMessage"

_encode = msgspec.json.Encoder().encode


class Answered(msgspec.Struct, frozen=True):
    """An answer as it travels, and the word an event has for it."""

    word: str
    result: JsonObject


class Respondent:
    """The callbacks of one runtime. What has no callback is not offered."""

    def __init__(self, on_elicit: OnElicit | None = None, on_sample: OnSample | None = None) -> None:
        self._on_elicit = on_elicit
        self._on_sample = on_sample

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What servers are told that they may ask."""
        offered: JsonObject = {}
        if self._on_elicit is not None:
            offered["elicitation"] = {"form": {}, "url": {}}
        if self._on_sample is not None:
            offered["sampling"] = {}
        return offered

    async def answer(self, server: str, principal: Principal, question: Question, limit: float) -> Answered:
        """The answer to one question. Raises `Refused` where there is none, and `ProtocolViolation` for a question that
        cannot be put to anyone."""
        wait = min(limit, LONGEST_WAIT)
        if question.method == ELICIT and self._on_elicit is not None:
            return await _elicit(self._on_elicit, server, principal, question.params, wait)
        if question.method == SAMPLE and self._on_sample is not None:
            return await _sample(self._on_sample, server, principal, question.params, wait)
        if question.method in {ELICIT, SAMPLE}:
            raise _nobody(server, question)
        raise ProtocolViolation(f"{server} asks for {question.method[:80]!r}, which was never offered", where="call")


async def _elicit(on_elicit: OnElicit, server: str, principal: Principal, params: JsonObject, wait: float) -> Answered:
    question, validator = _read_elicitation(server, principal, params)
    answer = await put_to(on_elicit, question, wait)
    match answer:
        case Accept(content=content):
            result = _accepted(question, content, validator)
        case Decline() | Refused():
            result = {"action": "decline"}
        case Cancel() | None:
            result = {"action": "cancel"}
        case _:
            _log.error("on_elicit gave %s, which is none of Accept, Decline and Cancel", type(answer).__name__)
            result = {"action": "decline"}
    return Answered(result["action"], result)


def _read_elicitation(server: str, principal: Principal, params: JsonObject) -> tuple[Elicitation, Validator | None]:
    message, mode = as_text(params.get("message")), params.get("mode", "form")
    if message is None:
        raise _bad(server, "has no message")
    if mode == "url":
        return Elicitation(server, principal, message, "url", url=_address(server, params), raw=params), None
    schema = params.get("requestedSchema")
    if mode != "form" or not is_object(schema) or schema.get("type", "object") != "object":
        raise _bad(server, "has no schema of an object")
    schema = {**schema, "type": "object"}
    return Elicitation(server, principal, message, "form", schema, raw=params), compile_schema(schema)


def _address(server: str, params: JsonObject) -> str:
    url = as_text(params.get("url")) or ""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _bad(server, "has an address that cannot be read") from None
    # Whatever opens this for a person might run, or read a file, for another scheme.
    if parts.scheme not in {"http", "https"} or not parts.netloc or not url.isprintable():
        raise _bad(server, f"has an address that no browser should open: {url[:80]!r}")
    return url


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


async def _sample(on_sample: OnSample, server: str, principal: Principal, params: JsonObject, wait: float) -> Answered:
    if not is_array(params.get("messages")):
        raise _bad(server, "has no messages")
    if params.get("tools") or params.get("toolChoice"):
        raise _bad(server, "wants tools to be used, which was not offered")
    answer = await put_to(on_sample, Sampling(server, principal, params), wait)
    result = _sampled(answer) if isinstance(answer, Sampled) else None
    if result is None:
        if answer is not None and not isinstance(answer, Sampled | Refused):
            _log.error("on_sample gave %s, which is not Sampled", type(answer).__name__)
        raise Refused(f"{server} asked for a model's words, and got none", rule="question_is_answered")
    return Answered("sampled", result)


def _sampled(answer: Sampled) -> JsonObject | None:
    content = {"type": "text", "text": answer.content} if isinstance(answer.content, str) else answer.content
    result: JsonObject = {"role": "assistant", "content": content, "model": answer.model}
    if answer.stop_reason is not None:
        result["stopReason"] = answer.stop_reason
    return _bounded(result)


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


def _nobody(server: str, question: Question) -> Refused:
    words = as_text(question.params.get("message")) or question.method
    callback = "on_elicit" if question.method == ELICIT else "on_sample"
    return Refused(
        f"{server} asks, before it goes on: {words[:200]}",
        rule="somebody_can_be_asked",
        evidence=f"{question.method}, and there is no {callback}",
        fix=f"give the Runtime an `{callback}` callback, or pass what the server needs in the arguments",
    )


def _bad(server: str, problem: str) -> ProtocolViolation:
    return ProtocolViolation(f"a question of {server} {problem}", where="call")
