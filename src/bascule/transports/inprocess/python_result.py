"""Tool result of a Python function: its return value as content, or its exception as a failure."""

import base64
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from bascule.core.errors import BasculeError, Refused, UsageError, WorkspaceError
from bascule.core.json_types import JsonObject, is_object
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.kit.errors import ToolFatalError, ToolRetryError
from bascule.transports.inprocess.python_signature import RESULT
from bascule.transports.inprocess.python_types import Media
from bascule.wire.results import FATAL_KEY, PREFIX


def reply_of(value: Any) -> JsonObject:
    """A result as content. Raises `TypeError` where JSON cannot say it."""
    match value:
        case ToolResult():
            return {key: value.raw[key] for key in ("content", "structuredContent") if key in value.raw}
        case ToolFailure():
            return _of_failure(value)
        case None | Media() | str() | int() | float():
            return {"content": [] if value is None else [_block(value)]}
        case bytes() | bytearray() | memoryview():
            raise TypeError("bytes say nothing of what they are: return Media(data, mime_type)")
        case list() | tuple() if any(isinstance(each, Media) for each in cast("Sequence[Any]", value)):
            return {"content": [_block(each) for each in cast("Sequence[Any]", value)]}
        case _:
            return _structured(value)


def failure_reply(name: str, error: BaseException) -> JsonObject:
    """What it is meant to say is told in its own words. Anything else it raises is a mistake: of that the caller learns
    only what kind it is, since its words may hold what is none of theirs."""
    match error:
        case ToolRetryError():
            return _failure(error.message, error.code, retriable=True)
        case ToolFatalError():
            return _fatal(error.message, error.code)
        case UsageError() | WorkspaceError():
            return _failure(_with_fix(error), error.code, retriable=True)
        case Refused():
            return _failure(_with_fix(error), error.code, retriable=False)
        case _:
            return _failure(f"{name} failed: {type(error).__name__}", None, retriable=None)


def is_meant(error: BaseException) -> bool:
    """Whether a function raised it to say something."""
    return isinstance(error, ToolRetryError | ToolFatalError | UsageError | WorkspaceError | Refused)


def unfitting(error: msgspec.ValidationError) -> JsonObject:
    """Arguments that the function's own types do not take, although the schema does."""
    return _failure(f"the arguments do not fit: {error}", None, retriable=True)


def _of_failure(failure: ToolFailure) -> JsonObject:
    """That of another call which a function passes on."""
    if failure.kind is FailureKind.FATAL:
        return _fatal(failure.message, failure.code)
    return _failure(failure.message, failure.code, retriable=failure.retriable)


def _structured(value: Any) -> JsonObject:
    # Written and read: what the function goes on doing with it changes nothing any more.
    data = msgspec.json.encode(value, enc_hook=_plain)
    found: Any = msgspec.json.decode(data)
    if not is_object(found):
        if isinstance(found, str | int | float):
            return {"content": [_block(found)]}
        found = {RESULT: found}
    return {"content": [_text(data.decode())], "structuredContent": found}


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"{type(value).__name__} is nothing that JSON can say")


def _text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def _block(value: Any) -> JsonObject:
    if not isinstance(value, Media):
        words = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=_plain).decode()
        return _text(words)
    data, kind = base64.b64encode(value.data).decode(), value.mime_type.partition("/")[0]
    if kind in {"image", "audio"}:
        return {"type": kind, "data": data, "mimeType": value.mime_type}
    held = {"uri": f"native:///{value.name}", "mimeType": value.mime_type, "blob": data}
    return {"type": "resource", "resource": held}


def _with_fix(error: BasculeError) -> str:
    return f"{error.message}; {error.fix}" if error.fix else error.message


def _fatal(message: str, code: str | float | None) -> JsonObject:
    return {**_failure(PREFIX + message, code, retriable=None), "_meta": {FATAL_KEY: True}}


def _failure(message: str, code: str | float | None, *, retriable: bool | None) -> JsonObject:
    structured: JsonObject = {"message": message}
    if code is not None:
        structured["code"] = code
    if retriable is not None:
        structured["retriable"] = retriable
    return {"content": [_text(message)], "structuredContent": structured, "isError": True}
