"""The connections of one link that wait for their next request.

aiohttp keeps them as well, and looks for one under a key that is made anew for each request, in a queue that is made
anew whenever it was empty: where there are many servers, that took a fifteenth of the time of a call.
"""

import asyncio
from collections import deque
from time import monotonic

from aiohttp.connector import Connection

KEPT = 15.0
"""Seconds that one is kept unused, as aiohttp has it: servers hang up on idle clients too, and a request must not leave
in the moment in which they do."""


class Spares:
    """The one that has waited longest goes first, as aiohttp has it."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Connection, float]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self) -> Connection | None:
        """One on which a request can be written now."""
        while self._waiting:
            connection, since = self._waiting.popleft()
            protocol = connection.protocol
            if (
                protocol is not None
                and protocol.is_connected()
                and monotonic() - since <= KEPT
                # The server has answered the last request without reading all of it, and would do so with the next.
                and not protocol.writing_paused
                # It has said something that nobody asked for, which would be taken for the answer.
                and not protocol.should_close
            ):
                return connection
            connection.close()
        return None

    def put(self, connection: Connection) -> None:
        """Nothing more is expected on it. One that cannot be used again is closed."""
        protocol = connection.protocol
        if self._closed or protocol is None or protocol.should_close:
            connection.close()
            return
        self._waiting.append((connection, monotonic()))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEPT, self._tend)

    def close(self) -> None:
        """Those that are given back later are closed as well."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            self._waiting.popleft()[0].close()

    def _tend(self) -> None:
        """Close those that have waited long enough."""
        self._timer = None
        now = monotonic()
        while self._waiting and now - self._waiting[0][1] >= KEPT:
            self._waiting.popleft()[0].close()
        if self._waiting:
            left = KEPT - (now - self._waiting[0][1])
            self._timer = asyncio.get_running_loop().call_later(left, self._tend)
