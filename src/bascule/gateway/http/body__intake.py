"""Reads the bodies of requests: each bounded in size and time, and all of them together in the memory they take."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

from bascule.core.errors import BasculeError
from bascule.gateway.http.body import ROOM, SMALL, Bulk, Room
from bascule.gateway.http.disconnect import Receive
from bascule.gateway.http.request import HttpRequest
from bascule.gateway.limits__allowance import Allowance

Body = bytes | bytearray

SLOWEST = 30.0
"""Seconds in which a whole body must have come. Room that a client holds and does not use is taken from others."""


BULK = "bulk"
"""In an event that brings a body which was read before: what it has of the room."""


class NotTaken(BasculeError):
    """A body that is not taken, with the HTTP status that says why."""

    code = "BSC-720"

    def __init__(self, message: str, status: int, *, fix: str) -> None:
        super().__init__(message, fix=fix)
        self.status = status


class Gone(Exception):
    """The client hung up before its request was whole. Nobody is there to be told, so this is no error with a code."""


class Intake:
    """Where bodies come in."""

    def __init__(self, longest: int, room: int = ROOM) -> None:
        self._longest = longest
        self._small = min(SMALL, longest)
        self._room = Room(longest, room)

    def at_hand(self, receive: Receive) -> Body | None:
        """The whole body, if it is small and all of it has come with its head, as nearly always."""
        request = getattr(receive, "__self__", None)
        return request.whole(self._small) if isinstance(request, HttpRequest) else None

    async def take(self, receive: Receive, length: str, allowance: Allowance) -> tuple[Body, Bulk | None]:
        """The whole body, and what it has of the room if it is large: whoever gets that releases it once the request is
        answered. Raises `NotTaken`, `TooMuch` and `Gone`."""
        announced = _announced(length)
        if announced is not None and announced > self._longest:
            raise self._too_long()
        event = await _next(receive)
        body: Body = event.get("body", b"")
        more = event.get("more_body", False)
        if not more and len(body) <= self._small:
            return body, None
        if BULK in event:
            return body, event[BULK]
        size = self._longest if announced is None else announced
        try:
            async with asyncio.timeout(SLOWEST):
                if max(size, len(body)) <= SMALL:
                    return await self._rest(receive, body, more=more), None
                return await self._gather(receive, event, max(size, len(body)), allowance)
        except TimeoutError:
            raise NotTaken(
                f"the body did not come within {SLOWEST:g} seconds",
                408,
                fix="send as many bytes as `Content-Length` announces, without a pause",
            ) from None

    async def _gather(
        self, receive: Receive, first: MutableMapping[str, Any], size: int, allowance: Allowance
    ) -> tuple[Body, Bulk | None]:
        if len(first["body"]) > self._longest:
            raise self._too_long()
        bulk = await self._room.enter(size, allowance)
        try:
            body = await self._rest(receive, first.pop("body"), more=first.get("more_body", False))
        except BaseException:
            bulk.release()
            raise
        if len(body) <= SMALL:
            bulk.release()
            return body, None
        bulk.shrink(len(body))
        return body, bulk

    async def _rest(self, receive: Receive, first: Body, *, more: bool) -> Body:
        body = bytearray(first) if more else first
        while more and len(body) <= self._longest:
            event = await _next(receive)
            body += event.get("body", b"")
            more = event.get("more_body", False)
        if len(body) > self._longest:
            raise self._too_long()
        return body

    def _too_long(self) -> NotTaken:
        return NotTaken(
            f"a message may have {self._longest} bytes, and this one has more",
            413,
            fix="send less at once, or raise `messages.max` in the gateway's config",
        )


def _announced(length: str) -> int | None:
    return int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None


async def _next(receive: Receive) -> MutableMapping[str, Any]:
    event = await receive()
    if event["type"] == "http.disconnect":
        raise Gone
    return event
