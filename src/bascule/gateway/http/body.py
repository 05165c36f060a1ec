"""Request bodies: a reader that bounds each body in size and time, and a memory budget that all large bodies share. A
body holds its part of the budget until its request is answered."""

import asyncio
import math
from collections import deque
from collections.abc import MutableMapping
from typing import Any

from bascule.core.errors import BasculeError
from bascule.gateway.http.disconnect import Receive
from bascule.gateway.http.request import HttpRequest
from bascule.gateway.limits import Allowance, TooMuch

SMALL = 64 * 1024
"""Bytes that a body may have without asking for room: requests of agents are smaller, and thousands of them fit."""

ROOM = 32 * 1024 * 1024
"""Bytes of all larger bodies whose requests are under way. What was read of one is there several times: as it came, as
values, as it is written to its server and waits to be read there. Measured, a byte here takes about eight."""

SHARE = 2
"""The part of that room, one in so many, that one principal may have: others find room beside who sends large bodies,
and beside who begins them and sends no more."""

PATIENCE = 20.0
"""Seconds for which a large body waits for room. Whoever holds it may be waiting for a slow server."""


class Bulk:
    """What one large body has of the room."""

    __slots__ = ("_allowance", "_aside", "_room", "_size")

    def __init__(self, room: "Room", allowance: Allowance, size: int) -> None:
        self._room = room
        self._allowance = allowance
        self._size = size
        self._aside = False

    def shrink(self, size: int) -> None:
        """It turned out to be no larger than this."""
        if size < self._size:
            self._allowance.let_go(self._size - size)
            self._room.give_back(self._size - size)
            self._size = size

    def set_aside(self) -> bool:
        """Its request is about to wait for another one of the same client, for which there must be room then: so this
        one is kept in room that is for such alone. Whether there is any."""
        if self._aside or not self._size:
            return True
        if not self._room.put_aside(self._size, self._allowance):
            return False
        self._allowance.let_go(self._size)
        self._room.give_back(self._size)
        self._aside = True
        return True

    def release(self) -> None:
        """Its request was answered. May be called twice."""
        size, self._size = self._size, 0
        if self._aside:
            self._room.take_from_aside(size, self._allowance)
        elif size:
            self._allowance.let_go(size)
            self._room.give_back(size)


class Room:
    """Memory budget for all large bodies of one gateway."""

    def __init__(self, longest: int, size: int = ROOM) -> None:
        """A body is at most the `longest` of all, so there is always room for one."""
        self._size = self._left = max(size, longest)
        self._share = max(self._size // SHARE, longest)
        self._aside = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def enter(self, size: int, allowance: Allowance) -> Bulk:
        """Waits until there is room for so many bytes. Raises `TooMuch`."""
        allowance.hold(size, self._most(allowance))
        try:
            async with asyncio.timeout(PATIENCE):
                await self._reserve(size)
        except TimeoutError:
            allowance.let_go(size)
            raise TooMuch("requests with large bodies are under way, and there is no room for another one") from None
        except BaseException:
            allowance.let_go(size)
            raise
        return Bulk(self, allowance, size)

    def give_back(self, size: int) -> None:
        self._left += size
        while self._waiting and (self._waiting[0][1].done() or self._waiting[0][0] <= self._left):
            wanted, turn = self._waiting.popleft()
            if not turn.done():
                self._left -= wanted
                turn.set_result(None)

    def put_aside(self, size: int, allowance: Allowance) -> bool:
        if self._aside + size > self._size or allowance.aside + size > self._most(allowance):
            return False
        self._aside += size
        allowance.aside += size
        return True

    def take_from_aside(self, size: int, allowance: Allowance) -> None:
        self._aside -= size
        allowance.aside -= size

    def _most(self, allowance: Allowance) -> float:
        # Where one stands for everybody, those who ask at the same time are others, and wait for each other.
        return math.inf if allowance.everybody else self._share

    async def _reserve(self, size: int) -> None:
        """In the order in which they came: a large one is not passed over for ever by small ones."""
        if not self._waiting and size <= self._left:
            self._left -= size
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(size)
            raise


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
