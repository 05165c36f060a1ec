"""Background thread of one runtime: its start, calls from other threads, and its end."""

import asyncio
import atexit
import concurrent.futures.thread
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import CancelledError as FutureCancelled
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from bascule.core.errors import UsageError
from bascule.runtime.runtime import Runtime
from bascule.runtime.sync.portal import Portal

T = TypeVar("T")

_RUNNING: set["Stay"] = set()
"""Those that have not ended, which the end of the program ends."""


class Stay:
    """A runtime and the thread it lives in. It is begun once and ended once; any thread may do either."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        self._runtime = runtime
        self._portal = Portal(name)
        self._life: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._busy: set[asyncio.Task[Any]] = set()
        self._entered: Future[None] = Future()
        self._left: Future[None] | None = None
        self._turn = threading.RLock()
        self.ended = False
        self.closing = False
        """Whether it is ending, or has. What is asked of it then is not done, and what was being done is cancelled."""

    @property
    def inside(self) -> bool:
        return self._portal.inside

    def begin(self) -> None:
        """Enter the runtime. Raises why it cannot be; nothing is left of it then."""
        _end_with_the_program()
        self._portal.open()
        try:
            _RUNNING.add(self)
            self._left = self._portal.start(self._live())
            concurrent.futures.wait((self._entered, self._left), return_when=FIRST_COMPLETED)
            if not self._entered.done():
                self._left.result()
        except FutureCancelled:
            self.end()
            raise UsageError("the runtime was closed before it was open") from None
        except BaseException:
            self.end()
            raise

    def run(self, work: Callable[[Runtime], Coroutine[Any, Any, T]], among: set[asyncio.Task[Any]] | None = None) -> T:
        """Do something with the runtime, and wait for what comes of it. While it is done it is `among` these."""
        return self._portal.run(self._do(work, among))

    def cancel(self, tasks: set[asyncio.Task[Any]]) -> None:
        """Cancel these, and wait until they have ended."""
        self._portal.run(_cancelled(tasks))

    def end(self) -> None:
        """Cancel what is being done, have servers told so, and leave the runtime. It may have been begun only half, and
        ending it again does nothing. Raises what went wrong with leaving; the thread has ended then too."""
        with self._turn:
            if self.ended:
                return
            # Else its thread is gone, and all that was there: in a process that was forked off.
            with suppress(UsageError):
                concurrent.futures.wait((self._portal.start(self._wind_up()),))
            self._portal.close()
            self.ended = True
            _RUNNING.discard(self)
        if self._left is not None and self._left.done() and self._entered.done():
            self._left.result()

    async def _live(self) -> None:
        """One task enters the runtime and leaves it."""
        self._life = asyncio.current_task()
        async with self._runtime:
            self._entered.set_result(None)
            await self._over.wait()

    async def _do(self, work: Callable[[Runtime], Coroutine[Any, Any, T]], among: set[asyncio.Task[Any]] | None) -> T:
        if self.closing:
            raise UsageError("the runtime was closed")
        task = asyncio.current_task()
        assert task is not None
        together = (self._busy,) if among is None else (self._busy, among)
        for busy in together:
            busy.add(task)
        try:
            return await work(self._runtime)
        finally:
            for busy in together:
                busy.discard(task)

    async def _wind_up(self) -> None:
        if not self.closing:
            self.closing = True
            # While the links are there: their servers are told.
            await _cancelled(self._busy)
            # Once: cancelling again would stop it from clearing up after itself.
            if self._life is not None and not self._entered.done():
                self._life.cancel()
            self._over.set()
        if self._life is not None:
            await asyncio.wait((self._life,))


async def _cancelled(tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


@cache
def _end_with_the_program() -> None:
    """See to it that nothing is left running when the program ends without closing.

    That is done before threads are shut down: after that, none can be started, and closing needs some. Hooks run last
    in, first out, so the one of `concurrent.futures` must be there before ours.
    """
    assert concurrent.futures.thread
    register = getattr(threading, "_register_atexit", atexit.register)
    register(_end_all)
    if hasattr(os, "register_at_fork"):
        # What the parent runs is not the child's to end.
        os.register_at_fork(after_in_child=_RUNNING.clear)


def _end_all() -> None:
    for stay in tuple(_RUNNING):
        stay.end()
