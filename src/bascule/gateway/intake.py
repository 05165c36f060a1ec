"""Reads the bodies of requests: each bounded in size and time, and all of them together in the memory they take."""

import asyncio
from collections import deque
from collections.abc import MutableMapping
from typing import Any

from bascule.core.errors import BasculeError
from bascule.gateway.allowance import Allowance
from bascule.gateway.attention import Receive

SMALL = 64 * 1024
"""Bytes that a body may have without asking for room: requests of agents are smaller, and thousands of them fit."""

ROOM = 64 * 1024 * 1024
"""Bytes that all larger bodies may take while they are read. The next one waits until there is room again."""

SHARE = 4
"""The part of that room, one in so many, that one principal may have: others find room beside who sends large bodies,
and beside who begins them and sends no more."""

SLOWEST = 30.0
"""Seconds in which a whole body must have come. Room that a client holds and does not use is taken from others."""


class NotTaken(BasculeError):
    """A body that is not taken, with the HTTP status that says why."""

    code = "BSC-720"

    def __init__(self, message: str, status: int, *, fix: str) -> None:
        super().__init__(message, fix=fix)
        self.status = status


class Gone(BasculeError):
    """The client hung up before its request was whole."""

    code = "BSC-721"


class Intake:
    """Where bodies come in."""

    def __init__(self, longest: int, room: int = ROOM) -> None:
        self._longest = longest
        self._room = max(room, longest)
        self._share = max(self._room // SHARE, longest)
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, receive: Receive, length: str, allowance: Allowance) -> bytes | bytearray:
        """The whole body. Raises `NotTaken`, `TooMuch` and `Gone`."""
        announced = _announced(length)
        if announced is not None and announced > self._longest:
            raise self._too_long()
        event = await _next(receive)
        body: bytes = event.get("body", b"")
        if not event.get("more_body", False) and len(body) <= self._longest:
            # All of it in one piece, as nearly always.
            return body
        size = self._longest if announced is None else announced
        try:
            async with asyncio.timeout(SLOWEST):
                if size <= SMALL:
                    return await self._rest(receive, bytearray(body))
                return await self._gather(receive, body, size, allowance)
        except TimeoutError:
            raise NotTaken(
                f"the body did not come within {SLOWEST:g} seconds",
                408,
                fix="send as many bytes as `Content-Length` announces, without a pause",
            ) from None

    async def _gather(self, receive: Receive, first: bytes, size: int, allowance: Allowance) -> bytearray:
        allowance.hold(size, self._share)
        held = 0
        try:
            await self._reserve(size)
            held = size
            return await self._rest(receive, bytearray(first))
        finally:
            self._release(held)
            allowance.let_go(size)

    async def _rest(self, receive: Receive, body: bytearray) -> bytearray:
        while len(body) <= self._longest:
            event = await _next(receive)
            body += event.get("body", b"")
            if not event.get("more_body", False):
                break
        if len(body) > self._longest:
            raise self._too_long()
        return body

    async def _reserve(self, size: int) -> None:
        """In the order in which they came: a large one is not passed over for ever by small ones."""
        if not self._waiting and size <= self._room:
            self._room -= size
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(size)
            raise

    def _release(self, size: int) -> None:
        self._room += size
        while self._waiting and (self._waiting[0][1].done() or self._waiting[0][0] <= self._room):
            wanted, turn = self._waiting.popleft()
            if not turn.done():
                self._room -= wanted
                turn.set_result(None)

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
        raise Gone("the client hung up")
    return event
