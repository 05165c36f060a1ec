"""JSON-RPC errors, HTTP statuses and `Retry-After` headers of rejected requests."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bascule.core.errors import BasculeError
from bascule.gateway.limits import TooMuch
from bascule.wire.jsonrpc import write_error
from bascule.wire.request_meta import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
TOO_MUCH = -32000
"""JSON-RPC leaves this one to each server."""

STATUSES: Mapping[int, int] = MappingProxyType(
    {
        PARSE_ERROR: 400,
        INVALID_REQUEST: 400,
        INVALID_PARAMS: 400,
        HEADER_MISMATCH: 400,
        MISSING_CAPABILITY: 400,
        UNSUPPORTED_VERSION: 400,
        METHOD_NOT_FOUND: 404,
    }
)
"""The HTTP status that the new era wants for an error. The old one answers what has an id with 200, errors too."""


class Rejected(Exception):
    """A message that is not served. `status` is told where the protocol leaves it open."""

    def __init__(self, code: int, message: str, *, data: Any = None, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.status = status or STATUSES.get(code, 200)

    def body(self, request_id: Any) -> bytes:
        return write_error(request_id, self.code, self.message, self.data)


def too_much(error: TooMuch) -> bytes:
    """What a client is told that was turned away for a moment. Its message was not read, so nobody knows the id."""
    data = {"code": error.code, "retry_after": error.retry_after}
    return write_error(None, TOO_MUCH, f"{error.message}; {error.fix}", data)


def not_served(error: BasculeError) -> bytes:
    """What a client is told that was turned away at the door: what is wrong, its code, and how to mend it."""
    told = f"{error.message}; {error.fix}" if error.fix else error.message
    return write_error(None, INVALID_REQUEST, told, {"code": error.code})


def unforeseen(request_id: Any = None) -> bytes:
    """What a client is told where something broke in here. What it was may hold anything, and is for the log alone."""
    words = "an error of the gateway; its log says more"
    return write_error(request_id, INTERNAL_ERROR, words, {"code": BasculeError.code})


def retry_after(error: TooMuch) -> list[tuple[bytes, bytes]]:
    return [(b"retry-after", str(error.retry_after).encode())]
