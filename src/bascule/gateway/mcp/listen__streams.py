"""The streams on which clients are told of news: how many there may be, and when each has to end."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from bascule.core.principal import Principal
from bascule.gateway.errors import Rejected
from bascule.wire.request_meta import INTERNAL_ERROR

MOST_OF_ONE = 32
"""Streams that one principal may have at once. A client needs one, and each holds a connection."""

MOST = 5000
"""Streams of all principals together."""

Lasts = Callable[[], Awaitable[None]]
"""Returns once whoever listens may no longer do so."""


class Streams:
    """All streams that are open."""

    def __init__(self) -> None:
        self._open: dict[Callable[[], None], None] = {}
        self._of = Counter[Principal]()
        self._closing = False

    def __len__(self) -> int:
        return len(self._open)

    @asynccontextmanager
    async def place(self, principal: Principal, end: Callable[[], None], lasts: Lasts | None) -> AsyncGenerator[None]:
        """A place for a stream that `end` ends, which is done when `lasts` returns, or all of them have to end. Raises
        `Rejected` where there is none."""
        self._check(principal)
        self._open[end] = None
        self._of[principal] += 1
        lasting = asyncio.ensure_future(_after(lasts, end)) if lasts is not None else None
        try:
            yield
        finally:
            if lasting is not None:
                lasting.cancel()
            del self._open[end]
            self._of[principal] -= 1
            if not self._of[principal]:
                del self._of[principal]

    def close(self) -> None:
        """End all of them, and begin no other."""
        self._closing = True
        for end in tuple(self._open):
            end()

    def _check(self, principal: Principal) -> None:
        if self._closing:
            raise Rejected(INTERNAL_ERROR, "the gateway is about to stop", status=503)
        if self._of[principal] >= MOST_OF_ONE or len(self._open) >= MOST:
            raise Rejected(INTERNAL_ERROR, "there are too many streams; close one first", status=429)


async def _after(lasts: Lasts, end: Callable[[], None]) -> None:
    await lasts()
    end()
