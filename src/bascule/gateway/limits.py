"""Those who were turned away: how often one address is, and what becomes of who does not stop asking."""

import asyncio
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Any

import msgspec

from bascule.gateway.limits__allowance import TooMuch

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
