"""Whether a client still waits for its answer."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol, Self
from weakref import WeakKeyDictionary

from bascule.gateway import steady

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
        self._since: dict[Attention, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    def here(cls) -> "Young":
        loop = asyncio.get_running_loop()
        young = _YOUNG.get(loop)
        if young is None:
            young = _YOUNG[loop] = cls(loop)
        return young

    def enter(self, attention: "Attention") -> None:
        self._since[attention] = self.loop.time()
        if self._timer is None:
            self._timer = self.loop.call_later(PATIENCE, self._look)

    def leave(self, attention: "Attention") -> None:
        self._since.pop(attention, None)

    def _look(self) -> None:
        """At those that have lasted; they are in the order in which they came."""
        self._timer = None
        until = self.loop.time() - PATIENCE
        for attention, since in tuple(self._since.items()):
            if since > until:
                self._timer = self.loop.call_at(since + PATIENCE, self._look)
                return
            del self._since[attention]
            attention.watch()


_YOUNG: WeakKeyDictionary[asyncio.AbstractEventLoop, Young] = WeakKeyDictionary()


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
        self._serving = asyncio.current_task()
        self._young = Young.here()
        self._young.enter(self)
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
            self._young.leave(self)
        if self._watching is not None:
            self._watching.cancel()
        if self._silence is not None:
            self._silence.cancel()

    def watch(self) -> None:
        """Look from now on whether the client is still there."""
        self._watching = asyncio.ensure_future(self._watch())
        if self.awaited is not None:
            # A timer that only those have which take long.
            later = steady.KEEP_ALIVE - PATIENCE
            self._silence = asyncio.get_running_loop().call_later(later, self.awaited.keep_up)

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.give_up()
