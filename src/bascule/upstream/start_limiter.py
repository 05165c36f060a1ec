"""Limiter for simultaneous starts of servers. A slow start does not make others wait: a place is held for 0.1 s."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from bascule.transports.dispatcher import Dispatcher

HOLD = 0.1
"""Seconds a starting server keeps its place. Spawning everything at once lets each starve the others until all run into
their limits; holding the place until a server answers would make twenty slow ones wait in line."""

Started = Callable[[Dispatcher], None]


class StartGate:
    """At most `places` starts at a time. A place is free a moment after its server was spawned, or was turned to if it
    runs elsewhere, or when it dies."""

    def __init__(self, places: int) -> None:
        self._places = asyncio.Semaphore(places)

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[Started]:
        """Hold a place while starting. Call what this yields with the dispatcher that is being opened."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        free_again = _Once(self._places.release)

        def started(dispatcher: Dispatcher) -> None:
            dispatcher.lost.add_done_callback(lambda _: free_again())
            if dispatcher.kind != "stdio":
                # A server elsewhere costs us nothing while it takes its time. A WebSocket that is never accepted would
                # keep its place until its limit, and all who come after it waiting.
                loop.call_later(HOLD, free_again)

        try:
            yield started
        except BaseException:
            free_again()
            raise
        loop.call_later(HOLD, free_again)


class _Once:
    """A call that counts the first time."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act: Callable[[], None] | None = act

    def __call__(self) -> None:
        act, self._act = self._act, None
        if act is not None:
            act()
