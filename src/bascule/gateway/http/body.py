"""The memory that large bodies share, and what one of them has of it until its request is answered."""

import asyncio
import math
from collections import deque

from bascule.gateway.limits__allowance import Allowance, TooMuch

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
    """The room for all of them."""

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
