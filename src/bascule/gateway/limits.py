"""Rate limit on failed authentication, per client address; limits on concurrent requests, request rate and body memory,
per principal."""

import asyncio
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Any

import msgspec

from bascule.core.errors import BasculeError

MOST_UNDER_WAY = 256
"""Requests of one principal that may be under way, streams included. An agent has a handful, and each server takes 16
of its calls at a time. More would only wait here, in memory that is everybody's."""

MOST_OF_EVERYBODY = 4096
"""The same where one principal stands for everybody on this machine: as many as there may be connections."""

PER_SECOND = 2000
"""Requests of one principal that are taken within one second. Who asks for one thing after the other comes to half of
it; a worker answers some thousands, so others are served beside whoever asks for all it can."""


class TooMuch(BasculeError):
    """More than one principal, or one address, may have. `retry_after` is in whole seconds."""

    code = "BSC-716"

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message, fix=f"come back in {retry_after} s, and ask for less at once")
        self.retry_after = retry_after


class Allowance:
    """What one principal has at this moment. Who has entered must leave."""

    __slots__ = ("_asked", "_second", "aside", "everybody", "held", "most", "per_second", "under_way", "used")

    def __init__(self, *, everybody: bool = False) -> None:
        """Where one principal stands for `everybody`, nobody could be told from anybody else."""
        self.everybody = everybody
        self.per_second = None if everybody else PER_SECOND
        self.most = MOST_OF_EVERYBODY if everybody else MOST_UNDER_WAY
        self.under_way = 0
        self.used = 0.0
        """When it last asked."""
        self.held = 0
        """Bytes of the room for large bodies."""
        self.aside = 0
        """Bytes of those whose requests wait for another one of the same client."""
        self._second = 0
        self._asked = 0

    def enter(self, now: float) -> None:
        """Raises `TooMuch`, and has counted nothing as under way then."""
        self.used = now
        if self.under_way >= self.most:
            raise TooMuch(f"{self.under_way} requests of this agent session are under way, and no more may be")
        if self.per_second is not None:
            second = int(now)
            if second != self._second:
                self._second, self._asked = second, 0
            self._asked += 1
            if self._asked > self.per_second:
                raise TooMuch(f"this agent session has asked {self.per_second} times within a second")
        self.under_way += 1

    def leave(self) -> None:
        self.under_way -= 1

    def hold(self, size: int, most: float) -> None:
        """Take a part of the room for large bodies. Raises `TooMuch`."""
        if self.held + size > most:
            raise TooMuch(f"large bodies of this agent session may take {most} bytes at once")
        self.held += size

    def let_go(self, size: int) -> None:
        self.held -= size


FREE = 100
"""Times that one address may be turned away at once. Behind one there may be many agents whose tokens end together."""

EASES = 20.0
"""Times a second that are forgiven. So often, and no oftener, a token that is wrong is verified for one address."""

PENANCE = 1.0
"""Seconds that who was turned away too often waits for its answer, so that one connection cannot ask more than once a
second."""

MOST_WAITING = 1024
"""Requests that wait for such an answer. Beyond it the answer comes at once, and the connection is closed."""

MOST_ADDRESSES = 10_000
"""Addresses that are remembered. The one that was turned away longest ago is forgotten first."""


class Record(msgspec.Struct):
    """What one address has left, as of some moment."""

    left: float
    at: float


class Strangers:
    """All addresses from which somebody was turned away."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[tuple[str, bool], Record] = {}
        self._waiting = 0

    def check(self, address: str) -> None:
        """Raises `TooMuch` where so many tokens were wrong that another one is not looked at."""
        record = self._known.get((address, True))
        if record is not None and self._left(record) < 1:
            raise TooMuch("too many tokens from this address were not believed")

    async def turn_away(self, address: str, *, token: bool = False) -> bool:
        """Count it, tokens that were wrong by themselves, and let who was turned away too often wait for the answer.
        False: the connection is to be closed with it."""
        record = self._known.pop((address, token), None)
        left = FREE if record is None else self._left(record)
        self._known[address, token] = Record(max(left - 1, 0.0), self._clock())
        if len(self._known) > MOST_ADDRESSES:
            del self._known[next(iter(self._known))]
        return left >= 1 or await self.wait()

    async def wait(self) -> bool:
        """Do penance. False where there is no room left to do it in."""
        if self._waiting >= MOST_WAITING:
            return False
        self._waiting += 1
        try:
            await asyncio.sleep(PENANCE)
        finally:
            self._waiting -= 1
        return True

    def _left(self, record: Record) -> float:
        return min(FREE, record.left + (self._clock() - record.at) * EASES)


def address_of(client: Any) -> str:
    """Who is at the other end of a connection. Of IPv6 every household has a whole network, which counts as one."""
    text = str(client[0]) if client else ""
    if ":" not in text:
        return text
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return text
    assert isinstance(address, IPv6Address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
