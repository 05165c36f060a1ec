"""Whoever waits for something to happen. However much does, they are woken a few times a second."""

import asyncio

PAUSE = 0.25
"""Seconds for which changes are gathered before anybody is told."""


class Watchers:
    """Those that wait. Costs nothing while there are none."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._waiting: set[asyncio.Future[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def stir(self) -> None:
        """Something has happened. They hear of it soon, together with what happens until then."""
        if self._timer is None and self._waiting:
            self._timer = asyncio.get_running_loop().call_later(self._pause, self._wake)

    async def wait(self) -> None:
        """Until something happens, and a little longer."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)
            if not self._waiting and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _wake(self) -> None:
        self._timer = None
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
