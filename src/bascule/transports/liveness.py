"""Liveness of a server: the time of its last message, and requests that timed out since then."""

import asyncio
from collections.abc import Callable, Iterable
from math import inf

from bascule.core.request import Request

PATIENT = frozenset({"heartbeat", "listen"})
"""Phases whose requests say nothing about how busy a server is: its silence may last."""


class Vitals:
    """Kept by a dispatcher as it goes. Times are those of the loop's clock."""

    __slots__ = ("_doubted", "_now", "_waiting", "heard")

    def __init__(self, waiting: Callable[[], Iterable[float]]) -> None:
        """`waiting` gives the moments at which the requests in flight were sent."""
        self._now = asyncio.get_running_loop().time
        self._waiting = waiting
        self._doubted = -inf
        self.heard = self._now()
        """When anything last came."""

    def hear(self) -> None:
        self.heard = self._now()

    def gave_up(self, request: Request, deadline: float) -> None:
        """Somebody stopped waiting at their deadline. If nothing came since they asked, the server is in doubt."""
        sent = deadline - request.timeout
        if request.phase not in PATIENT and sent > self.heard:
            self._doubted = min(sent, self._doubted) if self.doubted else sent

    @property
    def doubted(self) -> bool:
        """Whether somebody waited in vain since the server was last heard."""
        return self._doubted > self.heard

    @property
    def excused(self) -> bool:
        """Whether the server may be silent because it works on a request. One that came after another which got no
        answer at all is no excuse: it only stands in the same line."""
        limit = self._doubted if self.doubted else inf
        return any(sent < limit for sent in self._waiting())
