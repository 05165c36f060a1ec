"""JSON-RPC 2.0 codec: one message of bytes to one value, and back. The only module that parses MCP messages of a
peer."""

import gc
from collections.abc import Callable
from typing import Any

import msgspec

from bascule.core.errors import InvalidArguments, PeerRefused, ProtocolViolation
from bascule.core.json_types import JsonObject, is_object
from bascule.wire.json_limits import MAX_DEPTH, nests_deeper_than, refuse_dense

RequestId = int | str


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Any message: a request has a method and an id, a notification a method, a reply an id and a result or error.

    Written again, it has no member that its text did not have (`wire/duplicate_keys.py` counts them)."""

    id: Any = None
    method: str | None = None
    params: Any = None
    result: Any = msgspec.UNSET
    error: Any = msgspec.UNSET
    jsonrpc: Any = None


class _WithMore(Message, frozen=True, forbid_unknown_fields=False):
    """A message with fields that we do not know, and leave unread."""


_decode = msgspec.json.Decoder(Message).decode
_decode_with_more = msgspec.json.Decoder(_WithMore).decode
_encode = msgspec.json.Encoder().encode

SAMPLE = 120
"""Characters of a bad message that an error shows: enough to recognise a stray print, not enough to flood a log."""


LARGE = 256 * 1024
"""Bytes from which a message is parsed with the garbage collector at rest. It would run again and again while objects
are built of which none can be garbage yet, which makes parsing quadratic in their number."""


FLAT = 2 * MAX_DEPTH
"""Bytes in which nothing nests too deep: every level takes one to open it and one to close it."""


def read_message(data: bytes | bytearray) -> Message:
    """Parse one message, or raise `ProtocolViolation` saying what is wrong with it."""
    size = len(data)
    if size >= LARGE:
        refuse_dense(data)
    if size > FLAT and nests_deeper_than(data, MAX_DEPTH):
        raise ProtocolViolation(f"a message nests deeper than {MAX_DEPTH} levels", evidence=sample(data))
    try:
        return _decode(data) if size < LARGE else _parse_large(data, _decode)
    except msgspec.ValidationError:
        return _parse_with_more(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(data, error) from None


def _parse_with_more(data: bytes | bytearray) -> Message:
    try:
        # The parser skips what is not asked for without a look at its bytes, and only text in UTF-8 is JSON.
        str(data, "utf-8")
        return _decode_with_more(data) if len(data) < LARGE else _parse_large(data, _decode_with_more)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(data, error) from None


def _parse_large(data: bytes | bytearray, decode: Callable[[bytes | bytearray], Message]) -> Message:
    collecting = gc.isenabled()
    gc.disable()
    try:
        return decode(data)
    finally:
        if collecting:
            gc.enable()


def _unreadable(data: bytes | bytearray, error: Exception) -> ProtocolViolation:
    return ProtocolViolation(f"not a JSON-RPC message: {error}", evidence=sample(data))


MAX_WORDS = 10_000
"""Characters of a peer's own words that are passed on: more than any person or model reads of an error."""


def bounded(words: str) -> str:
    """A peer's words, or their start and how many there were."""
    return words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}… ({len(words)} characters in all)"


def sample(data: bytes | bytearray) -> str:
    """The start of some bytes, safe to show: control characters come out as escapes."""
    text = bytes(data[:SAMPLE]).decode("utf-8", "replace")
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown + ("…" if len(data) > SAMPLE else "")


def normal_id(value: Any) -> RequestId | None:
    """A reply's id as ours are: some servers echo 7 as "7"."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def write_arguments(arguments: JsonObject) -> msgspec.Raw:
    """Arguments as bytes, to be put into a request as they are. Raises `InvalidArguments` for what JSON cannot say."""
    try:
        return msgspec.Raw(_encode(arguments))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(f"the arguments are not JSON: {error}", fix="pass plain JSON values") from None


class _Request(msgspec.Struct, omit_defaults=True, gc=False):
    """Written faster than a dict. Every call writes one."""

    jsonrpc: str
    id: RequestId
    method: str
    params: JsonObject | None = None


def write_request(request_id: RequestId, method: str, params: JsonObject | None) -> bytes:
    return _encode(_Request("2.0", request_id, method, params))


def write_notification(method: str, params: JsonObject | None) -> bytes:
    message: JsonObject = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return _encode(message)


def write_result(request_id: Any, result: JsonObject | msgspec.Raw) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def write_error(request_id: Any, code: int, message: str, data: Any = None) -> bytes:
    error: JsonObject = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return _encode({"jsonrpc": "2.0", "id": request_id, "error": error})


def take_result(message: Message, *, phase: str) -> JsonObject:
    """The result of a reply, or its error raised as `PeerRefused`."""
    result: JsonObject = message.result
    if isinstance(message.result, dict):
        return result
    if message.error is not msgspec.UNSET:
        raise refusal(message.error, phase=phase)
    raise ProtocolViolation("a reply has neither a result object nor an error", where=phase)


def refusal(error: Any, *, phase: str) -> PeerRefused:
    """A JSON-RPC error object as our error. A malformed one is still an error, told as well as it can be."""
    if not is_object(error):
        refused = PeerRefused(f"the server answered with a malformed error: {error!r:.200}", rpc_code=0, phase=phase)
        refused.readable = False
        return refused
    code = error.get("code")
    text = error.get("message")
    return PeerRefused(
        bounded(text) if isinstance(text, str) and text else f"the server answered with error {code!r:.100}",
        rpc_code=code if isinstance(code, int) else 0,
        data=error.get("data"),
        phase=phase,
    )
