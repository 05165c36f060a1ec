"""Whether a client still waits for its answer."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Self

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

PATIENCE = 0.05
"""Seconds after which it is looked whether the client is still there. Most requests have ended by then, and need not
pay for a task that looks."""


class Attention:
    """Cancels the task in which a request is served once nobody waits for the answer: the client has hung up, or said
    that it no longer wants it. Use it as a context manager around the serving; `gone` says afterwards that this was why
    it ended."""

    __slots__ = ("_receive", "_serving", "_timer", "_watching", "gone")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._watching: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._serving: asyncio.Task[Any] | None = None
        self.gone = False

    def __enter__(self) -> Self:
        self._serving = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._begin)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        self._stop_watching()
        serving, self._serving = self._serving, None
        if not self.gone or not isinstance(error, asyncio.CancelledError):
            return False
        assert serving is not None
        # Cancelled by us, and by nobody else beside: the web server's own cancellation goes on.
        return serving.uncancel() == 0

    def let_go(self) -> None:
        """The client has its answer, and what is served goes on without it: it may hang up now."""
        self._stop_watching()

    def give_up(self) -> None:
        """Nobody waits any more."""
        if self._serving is not None and not self.gone:
            self.gone = True
            self._serving.cancel()

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()

    def _begin(self) -> None:
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.give_up()
