"""Results read as outcomes: of `tools/call` (content, a tool error with its code, or a fatal error), and of resource,
prompt, completion and listing requests. Pure: no I/O, no clock."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from bascule.core.errors import ProtocolViolation
from bascule.core.json_types import JsonObject, as_array, as_object, as_text, is_array, is_object
from bascule.core.outcome import (
    CompletionResult,
    FailureKind,
    PageResult,
    PromptResult,
    ResourceResult,
    ToolFailure,
    ToolResult,
)
from bascule.core.rendering import Style
from bascule.core.sensitivity import Lane
from bascule.wire.jsonrpc import bounded

TOOL_ERROR = "BSC-701"
"""The code of a tool's own error. It is no exception of ours: the call went well, the tool said no."""

MAX_RAW = 2000
"""Characters of raw JSON shown when a tool gave no words at all."""

_CODES = ("code", "errorCode", "statusCode")
_FLAGS = ("retriable", "retryable")
_YES = frozenset({"true", "yes", "1"})
_NO = frozenset({"false", "no", "0"})


class ErrorDetails(msgspec.Struct, frozen=True):
    """A tool's error as it told it. `cause` is its structured content, whole."""

    message: str
    tool_code: str | int | float | None
    retriable: bool | None
    cause: Any


def take_outcome(
    raw: JsonObject, server: str, tool: str, lane: Lane, steps: Mapping[str, float], style: Style = "yaml"
) -> ToolResult | ToolFailure:
    """The outcome of a reply, or `ProtocolViolation` if no reply may look like this. Nothing of it is copied."""
    kind = raw.get("resultType")
    if kind is not None and kind != "complete":
        raise other_kind(kind, server, tool)
    if not isinstance(raw.get("content", _NOTHING), list):
        raise misshapen("content is not a list", server, tool, raw)
    failed = raw.get("isError", False)
    if failed is False:
        return ToolResult(raw, server, tool, lane, steps, style)
    if failed is not True:
        raise misshapen("isError is not a boolean", server, tool, raw)
    return _failure(error_text(raw), server, tool, lane, steps)


_NOTHING: list[Any] = []


def _failure(details: ErrorDetails, server: str, tool: str, lane: Lane, steps: Mapping[str, float]) -> ToolFailure:
    return ToolFailure(
        kind=FailureKind.TOOL_ERROR,
        code=TOOL_ERROR,
        message=details.message,
        server=server,
        tool=tool,
        lane=lane,
        steps=steps,
        tool_code=details.tool_code,
        retriable=details.retriable,
        cause=details.cause,
    )


def error_text(raw: JsonObject) -> ErrorDetails:
    """What a result with `isError` says: its structured content first, then its text, then its bare JSON."""
    structured = raw.get("structuredContent")
    top = as_object(structured)
    nested = as_object(top.get("error"))
    code = _code_in(top) if _code_in(top) is not None else _code_in(nested)
    flag = _flag_in(top) if _flag_in(top) is not None else _flag_in(nested)
    words = _structured_words(top, nested) or _text_words(raw) or _bare(raw)
    return ErrorDetails(bounded(words) + _suffix(code, retriable=flag), code, flag, structured)


def _structured_words(top: JsonObject, nested: JsonObject) -> str | None:
    candidates = (top.get("message"), top.get("error"), nested.get("message"), top.get("detail"))
    return next((text for value in candidates if (text := as_text(value))), None)


def _text_words(raw: JsonObject) -> str:
    blocks = (as_object(block) for block in as_array(raw.get("content")))
    texts = (as_text(block.get("text")) for block in blocks if block.get("type") == "text")
    return "\n".join(text for text in texts if text and not text.isspace())


def _bare(raw: JsonObject) -> str:
    return msgspec.json.encode(raw).decode()[:MAX_RAW]


def _code_in(fields: JsonObject) -> str | int | float | None:
    for name in _CODES:
        value = fields.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            return value
    return None


def _flag_in(fields: JsonObject) -> bool | None:
    return next((flag for name in _FLAGS if (flag := _as_flag(fields.get(name))) is not None), None)


def _as_flag(value: Any) -> bool | None:
    """A yes or no, however it was written."""
    if isinstance(value, bool | int | float):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else None


def _suffix(code: str | float | None, *, retriable: bool | None) -> str:
    parts = [] if code is None else [f"code={code}"]
    if retriable is not None:
        parts.append(f"retriable={'true' if retriable else 'false'}")
    return f" ({' '.join(parts)})" if parts else ""


def other_kind(kind: Any, server: str, subject: str) -> ProtocolViolation:
    return ProtocolViolation(
        f"{server}/{subject} answered with a kind of result we do not know",
        where="call",
        evidence=f"resultType: {kind!r:.100}",
    )


def misshapen(problem: str, server: str, subject: str, raw: JsonObject) -> ProtocolViolation:
    return ProtocolViolation(
        f"the result of {server}/{subject} is malformed: {problem}", where="call", evidence=_bare(raw)[:200]
    )


FATAL_KEY = "dev.bascule/fatal"
"""In a result's `_meta`, with the value true."""

PREFIX = "[FATAL] "
"""Before the words of the error, for clients that show them and read no `_meta`."""


def read_fatal(failure: ToolFailure, raw: JsonObject) -> ToolFailure:
    """The failure as fatal if the result says so in either way, else as it is. Only for a server that is believed."""
    if as_object(raw.get("_meta")).get(FATAL_KEY) is not True and not failure.message.startswith(PREFIX):
        return failure
    return replace(failure, kind=FailureKind.FATAL, message=failure.message.removeprefix(PREFIX), retriable=False)


MAX_VALUES = 100
"""Completions the protocol allows in one answer."""

Steps = Mapping[str, float]


def take_contents(raw: JsonObject, server: str, uri: str, lane: Lane, steps: Steps) -> ResourceResult:
    """What a resource holds, or `ProtocolViolation`. Nothing of the reply is copied."""
    _complete(raw, server, uri)
    contents = raw.get("contents")
    if not is_array(contents) or not all(map(is_object, contents)):
        raise misshapen("contents is not a list of objects", server, uri, raw)
    return ResourceResult(raw, server, uri, lane, steps)


def take_messages(raw: JsonObject, server: str, prompt: str, lane: Lane, steps: Steps) -> PromptResult:
    """A prompt's messages, or `ProtocolViolation`. Nothing of the reply is copied."""
    _complete(raw, server, prompt)
    messages = raw.get("messages")
    if not is_array(messages) or not all(map(is_object, messages)):
        raise misshapen("messages is not a list of objects", server, prompt, raw)
    return PromptResult(raw, server, prompt, lane, steps)


def take_completion(raw: JsonObject, server: str, subject: str, lane: Lane, steps: Steps) -> CompletionResult:
    """The values an argument can be completed to, or `ProtocolViolation`. Those beyond the limit are left out."""
    _complete(raw, server, subject)
    found = as_object(raw.get("completion"))
    values = found.get("values")
    if not is_array(values) or not all(isinstance(value, str) for value in values):
        raise misshapen("completion.values is not a list of texts", server, subject, raw)
    more = found.get("hasMore") is True or len(values) > MAX_VALUES
    return CompletionResult(raw, server, lane, steps, tuple(values[:MAX_VALUES]), _count(found.get("total")), more)


def take_page(raw: JsonObject, server: str, subject: str, lane: Lane, steps: Steps) -> PageResult:
    """A page as it came. What is on it is the catalog's affair."""
    _complete(raw, server, subject)
    return PageResult(raw, server, lane, steps)


def _complete(raw: JsonObject, server: str, subject: str) -> None:
    kind = raw.get("resultType")
    if kind is not None and kind != "complete":
        raise other_kind(kind, server, subject)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
