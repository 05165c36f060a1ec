"""Dispatcher: interface of every transport to its link, with requests, notifications, revocation and close."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from bascule.core.errors import ConnectFailed, PeerError, PermitLost
from bascule.core.json_types import JsonObject
from bascule.core.request import OnNotice, Permit, Request
from bascule.transports.liveness import Vitals


class Response(msgspec.Struct, frozen=True):
    """Our answer to a request of the server's. It is written only as long as its permit holds; after that, not at all:
    what it says may have become private since."""

    result: JsonObject
    permit: Permit | None = None


OnRequest = Callable[[str, JsonObject], Awaitable[Response]]
"""Answers a request of the server's. Raise `PeerRefused` to answer with an error."""


@dataclass(slots=True)
class Counters:
    """What a peer sent that nobody asked for."""

    garbage: int = 0
    """Messages that could not be read."""
    strays: int = 0
    """Replies with an id nobody waits for: unknown, late or sent twice."""
    notices_dropped: int = 0
    """Progress and notifications that were not delivered, because there were too many or nobody wanted them."""
    last_garbage: str = ""
    """The start of the last message that could not be read."""


class Dispatcher(Protocol):
    """One connection to one server, matching replies to requests.

    It reads from the moment it is open. `lost` is done, with the reason, once no further request can succeed; requests
    in flight have failed by then. `close` may be called at any time, from any task, twice.
    """

    kind: str
    carries_headers: bool
    """Whether a request's headers go anywhere. Where not, nobody needs to make them."""
    counters: Counters
    vitals: Vitals
    lost: asyncio.Future[PeerError]
    on_notice: OnNotice | None
    on_request: OnRequest | None
    leave: Permit | None
    """Leave for the whole connection, set before it is opened and asked beside each request's own permit wherever bytes
    are handed over. It may be gone and come back: what it refuses is not written, and the connection goes on."""

    async def open(self) -> None:
        """Make the connection. Raises `ConnectFailed`."""
        ...

    async def send(self, request: Request) -> JsonObject:
        """Send, and await the result under the request's deadline. Raises `PeerError`s, or `PermitLost`."""
        ...

    async def notify(self, method: str, params: JsonObject | None = None, permit: Permit | None = None) -> None:
        """Send without awaiting anything. Raises `PermitLost` where it is known by then that nothing was written."""
        ...

    def adopt(self, version: str) -> None:
        """The protocol version that was agreed on; from here on its era's rules hold."""
        ...

    def lose(self, reason: PeerError) -> None:
        """Give the connection up: what is in flight fails now, for this reason. It is still to be closed."""
        ...

    def revoke(self, reason: PeerError) -> bool:
        """End the requests in flight whose own permit is no longer valid: with `PermitLost` what has not left, with
        `LaneClosed` what has. Nobody is told, and nobody else's are touched. Whether the connection may go on: not if
        something of theirs may still wait in a buffer below. It is lost then, and the buffer is dropped."""
        ...

    def sever(self, reason: PeerError) -> None:
        """Give the connection up so that not one byte more leaves it: what is buffered below is dropped in this step,
        and there is no farewell. What had left fails with `LaneClosed`, the rest with `PermitLost`."""
        ...

    async def close(self, grace: float) -> None:
        """End the connection and whatever serves it, within about `grace` seconds. Never raises."""
        ...

    def evidence(self) -> str:
        """What the server said outside the protocol (the tail of its stderr), for error messages."""
        ...


NO_LEAVE = "nothing may be written on this lane now"


def may_write(leave: Permit | None) -> bool:
    return leave is None or leave.valid()


def no_leave(where: str = "") -> PermitLost:
    """Nothing was written, and may be written later."""
    return PermitLost(NO_LEAVE, where=where)


class NoLeave(ConnectFailed):
    """A connection was not opened, because nothing may be written on its lane now."""


def not_opened(refused: PermitLost) -> NoLeave:
    """What the want of leave is to a connection that was about to open."""
    return NoLeave(
        f"no link was made: {NO_LEAVE}",
        where=refused.where,
        cause="private data came in, or this process could not renew its leave to write on that lane",
        fix="try again; if it stays so, look whether the store can be reached",
    )


def is_new_era(version: str | None) -> bool:
    """Versions are dates, and the handshake ended with the one of July 2026."""
    return version is not None and version >= "2026-07-28"


def progress_of(params: JsonObject) -> tuple[float, float | None, str | None] | None:
    """The three values of a progress notification, or None if it is malformed."""
    progress, total, message = params.get("progress"), params.get("total"), params.get("message")
    if not isinstance(progress, int | float):
        return None
    return progress, total if isinstance(total, int | float) else None, message if isinstance(message, str) else None
