"""Client disconnect detection: cancels the task of a request when its client hangs up or cancels the request."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol, Self

from bascule.gateway.http import sse

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

PATIENCE = 0.05
"""Seconds after which it is looked whether the client is still there. Most requests have ended by then, and need not
pay for a task that looks."""


class Awaited(Protocol):
    """The answer that a client waits for."""

    def keep_up(self) -> None:
        """Nothing was answered for so long that somebody on the way may believe the client waits in vain."""
        ...


class Young:
    """The requests of one loop that have only just begun. One timer serves all of them: most end before it goes off,
    and one for each would cost more than all the rest of what is done here."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.since: dict[Attention, float] = {}
        """When each has begun, in this order."""
        self.timer: asyncio.TimerHandle | None = None

    def look_later(self) -> None:
        self.timer = self.loop.call_later(PATIENCE, self._look)

    def _look(self) -> None:
        """At those that have lasted."""
        self.timer = None
        until = self.loop.time() - PATIENCE
        for attention, since in tuple(self.since.items()):
            if since > until:
                self.timer = self.loop.call_at(since + PATIENCE, self._look)
                return
            del self.since[attention]
            attention.watch()


_last: list[Young] = []
"""Those of the loop that was here last. A program has one, as a rule, for as long as it lives."""


def _young_of(loop: asyncio.AbstractEventLoop) -> Young:
    _last[:] = [Young(loop)]
    return _last[0]


class Attention:
    """Cancels the task in which a request is served once nobody waits for the answer: the client has hung up, or said
    that it no longer wants it. Use it as a context manager around the serving; `gone` says afterwards that this was why
    it ended."""

    __slots__ = ("_receive", "_serving", "_silence", "_watching", "_young", "awaited", "gone")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._watching: asyncio.Task[None] | None = None
        self._young: Young | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._serving: asyncio.Task[Any] | None = None
        self.awaited: Awaited | None = None
        """What is told if it takes long. Set it before the serving begins."""
        self.gone = False

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._serving = asyncio.current_task(loop)
        young = self._young = _last[0] if _last and _last[0].loop is loop else _young_of(loop)
        young.since[self] = loop.time()
        if young.timer is None:
            young.look_later()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        self._stop_watching()
        self.awaited = None
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
        if self._young is not None:
            self._young.since.pop(self, None)
        if self._watching is not None:
            self._watching.cancel()
        if self._silence is not None:
            self._silence.cancel()

    def watch(self) -> None:
        """Look from now on whether the client is still there."""
        self._watching = asyncio.ensure_future(self._watch())
        if self.awaited is not None:
            # A timer that only those have which take long.
            later = sse.KEEP_ALIVE - PATIENCE
            self._silence = asyncio.get_running_loop().call_later(later, self.awaited.keep_up)

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.give_up()
