"""Response parser: JSON, an SSE stream, or an error status of an HTTP response; nothing is read beyond its size
limit."""

from collections.abc import Mapping
from typing import Literal

from aiohttp import ClientError
from aiohttp.hdrs import CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE

from bascule.core.errors import PeerError, PeerRefused, ProtocolViolation
from bascule.core.json_types import JsonObject, is_object
from bascule.transports.http.response import Received, Response
from bascule.transports.http.response_head_cache import WholeReply
from bascule.transports.http.unauthorized import turned_away
from bascule.wire.jsonrpc import Message, read_message, refusal, sample, take_result

MATTERING = ("Retry-After", "WWW-Authenticate")
"""Headers of a refusal that those above can act on."""

Kind = Literal["json", "events", "other"]

_FIXES = {
    404: "check the path of the URL: many servers listen at /mcp",
    405: "check the path of the URL: this one takes no POST",
    406: "check the path of the URL: this one does not speak streamable HTTP",
    413: "the server accepts only shorter requests",
    429: "wait as long as Retry-After says",
}


def kind_of(response: Response) -> Kind:
    value = response.headers.get(CONTENT_TYPE, "")
    if value != "application/json":
        value = value.partition(";")[0].strip().lower()
    if value == "application/json":
        return "json"
    return "events" if value == "text/event-stream" else "other"


def body_at_hand(reply: WholeReply, max_message: int) -> bytes:
    """Its body, or `ProtocolViolation` if that is too long."""
    if len(reply.body) > max_message:
        raise _too_large(str(len(reply.body)), max_message)
    return reply.body


async def read_body(response: Response, max_message: int) -> bytes:
    """The whole body, or `ProtocolViolation` as soon as it is known to be too long."""
    length = response.headers.get(CONTENT_LENGTH, "")
    if length.isdigit() and int(length) > max_message:
        raise _too_large(length, max_message)
    content = response.content
    data = await content.readany()
    if content.at_eof() and len(data) <= max_message:
        return data
    whole = bytearray(data)
    while len(whole) <= max_message:
        data = await content.readany()
        if not data:
            return bytes(whole)
        whole += data
    raise _too_large(f"more than {len(whole) - 1}", max_message)


def plain(response: Response) -> None:
    """Raise unless the body is as it was asked for: not compressed."""
    encoding = response.headers.get(CONTENT_ENCODING)
    if encoding is not None and encoding.lower() not in {"identity", ""}:
        raise ProtocolViolation(
            "the server compressed its reply, although it was asked not to",
            evidence=f"Content-Encoding: {sample(encoding.encode())}",
            fix="switch compression off for this path, at the server or at the proxy before it",
        )


def result_of(message: Message, received: Received, phase: str) -> JsonObject:
    """The result, or the error with the HTTP status it came with."""
    if is_object(message.result):
        return message.result
    try:
        return take_result(message, phase=phase)
    except PeerRefused as refused:
        raise _with_http(refused, received) from None


def wrong_kind(response: Response) -> ProtocolViolation:
    given = response.headers.get(CONTENT_TYPE)
    told = f"Content-Type: {sample(given.encode())}" if given is not None else "no Content-Type"
    return ProtocolViolation(
        "the reply is neither JSON nor an event stream",
        evidence=f"HTTP {response.status}, {told}",
        fix="check the path of the URL: this may not be an MCP endpoint",
    )


async def refusal_of(response: Response, max_message: int, phase: str, authorization: str = "") -> PeerError:
    """Why there is no reply, from a status outside of 200 to 299, to a request that was sent with this token."""
    if response.status in {401, 403}:
        return turned_away(response, authorization)
    plain(response)
    body = await _error_body(response, max_message)
    error = _rpc_error(response, body, phase) or _bare(response, body, phase)
    return _with_http(error, response)


def _rpc_error(response: Response, body: bytes, phase: str) -> PeerRefused | None:
    if kind_of(response) != "json":
        return None
    try:
        message = read_message(body)
    except ProtocolViolation:
        return None
    return refusal(message.error, phase=phase) if is_object(message.error) else None


def _bare(response: Response, body: bytes, phase: str) -> PeerRefused:
    status = response.status
    error = PeerRefused(
        f"the server answered HTTP {status} {sample((response.reason or '').encode())}".rstrip(),
        rpc_code=0,
        phase=phase,
        fix=_FIXES.get(status, ""),
    )
    error.evidence = sample(body)
    error.readable = False
    return error


async def _error_body(response: Response, max_message: int) -> bytes:
    try:
        if kind_of(response) == "json":
            return await read_body(response, max_message)
        return await response.content.read(1024)
    except (ClientError, ProtocolViolation):
        # The status alone is already an answer.
        return b""
    finally:
        if not response.content.at_eof():
            response.close()


def _with_http(error: PeerRefused, received: Received) -> PeerRefused:
    error.status = received.status
    error.headers = _mattering(received.headers)
    return error


def _mattering(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in MATTERING if name in headers}


def _too_large(size: str, max_message: int) -> ProtocolViolation:
    return ProtocolViolation(
        f"the reply is longer than {max_message} bytes",
        evidence=f"{size} bytes",
        fix="raise messages.max if results of this size are expected",
    )
