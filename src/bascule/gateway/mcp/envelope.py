"""Validation of a client's JSON-RPC message, and of the headers that repeat it (`Mcp-Method`, `Mcp-Name`)."""

import base64
import binascii
import re
from collections.abc import Mapping
from types import NoneType
from typing import Any

import msgspec

from bascule.core.errors import ProtocolViolation
from bascule.core.json_types import JsonObject
from bascule.gateway.errors import INVALID_REQUEST, PARSE_ERROR, Rejected
from bascule.gateway.http.body import Bulk
from bascule.gateway.http.headers import Head
from bascule.wire.duplicate_keys import duplicate_key
from bascule.wire.jsonrpc import Message, read_message
from bascule.wire.request_meta import (
    CAPABILITIES_KEY,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    NEW_VERSIONS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
)
from bascule.wire.task import CANCEL, GET, UPDATE

NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    **dict.fromkeys((GET, UPDATE, CANCEL), "taskId"),
}
"""Which parameter the header `Mcp-Name` repeats."""

IDS = (str, int, NoneType)
"""What the id of a request may be; a notification has none."""

_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


class Asked(msgspec.Struct, frozen=True):
    """One request, checked. `id` is None for a notification."""

    method: str
    params: JsonObject
    id: Any = None
    meta: JsonObject = {}
    new: bool = False
    """Whether it is of the new era."""
    headers: Mapping[str, str] | None = None
    """Arguments that came as headers too. None where there are no headers that could say so."""
    head: Head | None = None
    """All that its headers say, where it has any."""
    bulk: Bulk | None = None
    """What its body has of the room for large ones, if it is one."""

    @property
    def progress_token(self) -> str | int | None:
        token = self.meta.get("progressToken")
        if token is None or isinstance(token, bool):
            return None
        return token if isinstance(token, str | int) else None


def read_body(data: bytes | bytearray) -> Message:
    """One message of a client. Raises `Rejected` for a body that is no JSON-RPC message, as batches are none in the
    versions of MCP served here, and for one with a duplicate key, which a proxy may have read otherwise."""
    try:
        message = read_message(data)
    except ProtocolViolation as error:
        is_json = _parses(data)
        code = INVALID_REQUEST if is_json else PARSE_ERROR
        raise Rejected(code, "the body must be one JSON-RPC message" if is_json else error.message) from None
    key = duplicate_key(data, message)
    if key is not None:
        raise Rejected(INVALID_REQUEST, f"an object of the message has the key {key!r:.100} twice")
    return message


def _parses(data: bytes | bytearray) -> bool:
    try:
        msgspec.json.decode(str(data, "utf-8"), type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def check_shape(message: Message, head: Head | None, bulk: Bulk | None = None) -> Asked:
    """That it is a request or a notification, and of which era, which its headers may say if it has any."""
    if message.jsonrpc != "2.0" or message.method is None:
        raise Rejected(INVALID_REQUEST, "the body must be one JSON-RPC 2.0 request or notification")
    if not isinstance(message.id, IDS) or isinstance(message.id, bool):
        raise Rejected(INVALID_REQUEST, "a request's id is text or a whole number")
    params: JsonObject | None = message.params
    if params is None:
        params = {}
    elif not isinstance(message.params, dict):
        raise Rejected(INVALID_PARAMS, "params must be an object")
    said: JsonObject | None = params.get("_meta")
    if said is None:
        said = {}
    elif not isinstance(params["_meta"], dict):
        raise Rejected(INVALID_PARAMS, "params._meta must be an object")
    version = None if head is None else head.version
    new = VERSION_KEY in said or version in NEW_VERSIONS or message.method == "server/discover"
    headers = head.params if head is not None and new else None
    return Asked(message.method, params, message.id, said, new, headers, head, bulk)


def check_new(asked: Asked, head: Head | None) -> None:
    """The new era's envelope, and that the headers, where there are any, repeat what the body says. The first thing
    that is wrong is told."""
    if VERSION_KEY not in asked.meta or CAPABILITIES_KEY not in asked.meta:
        missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in asked.meta]
        raise Rejected(INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}")
    version = asked.meta[VERSION_KEY]
    if head is not None:
        _check_headers(asked, head, version)
    if not isinstance(version, str):
        raise Rejected(INVALID_PARAMS, f"{VERSION_KEY} must be text")
    if version not in NEW_VERSIONS:
        supported = {"supported": [*NEW_VERSIONS], "requested": version}
        raise Rejected(UNSUPPORTED_VERSION, "Unsupported protocol version", data=supported)


def _check_headers(asked: Asked, head: Head, version: Any) -> None:
    if head.twice:
        raise Rejected(HEADER_MISMATCH, f"the header {head.twice} came twice")
    if head.version != version:
        raise Rejected(HEADER_MISMATCH, "the header mcp-protocol-version differs from the version in params._meta")
    if head.method != asked.method:
        raise Rejected(HEADER_MISMATCH, "the header mcp-method differs from the method of the body")
    key = NAMED_BY.get(asked.method)
    if key is not None:
        name = asked.params.get(key)
        if name is not None and header_text(head.name) != name:
            raise Rejected(HEADER_MISMATCH, f"the header mcp-name differs from {key!r} in the body")


def header_text(value: str | None) -> str | None:
    """What a header says, also where it had to be wrapped. None for a broken wrapping: it must match nothing."""
    found = _ENCODED.fullmatch(value) if value is not None and value.startswith("=") else None
    if found is None:
        return value
    try:
        decoded = base64.b64decode(found[1], validate=True)
        # Only one way to write it: a second one could be read differently elsewhere.
        return decoded.decode() if base64.b64encode(decoded).decode() == found[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None
