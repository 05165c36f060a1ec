"""Portal into an event loop for callers without one: a thread that runs the loop, and calls that block until done."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from bascule.core.errors import UsageError

T = TypeVar("T")


class Portal:
    """One thread with one event loop. Use it as a context manager, or `open` and `close` it.

    Any thread may call `run`, but never the loop's own: that would wait for itself.
    """

    def __init__(self, name: str = "bascule") -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # Held for moments. A handler of signals may come in between, in the same thread, and want to close it.
        self._turn = threading.RLock()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        return self._loop is not None

    @property
    def inside(self) -> bool:
        """Whether this is asked in its own thread, which cannot wait for anything that is done there."""
        return threading.current_thread() is self._thread

    def open(self) -> None:
        with self._turn:
            if self._loop is not None:
                return
            started: Future[asyncio.AbstractEventLoop] = Future()
            # A daemon: a program that ends without closing it must not wait for servers for ever.
            self._thread = threading.Thread(target=self._serve, args=(started,), name=self._name, daemon=True)
            self._thread.start()
            self._loop = started.result()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it there, and wait for what comes of it. Whoever is interrupted while they wait takes it back."""
        waiting: Future[T] | None = None
        try:
            waiting = self.start(work)
            return waiting.result()
        except FutureCancelled:
            raise UsageError("the portal was closed before this was done") from None
        except BaseException:
            # KeyboardInterrupt, mostly. What failed by itself is done, and this changes nothing.
            if waiting is not None:
                waiting.cancel()
            raise

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Have it done there, and do not wait. Cancelling what is given back takes it back."""
        # With the turn held, so that nothing is handed to a loop that has been told to stop: nobody would ever do it.
        with self._turn:
            if self.inside:
                work.close()
                raise UsageError(
                    "the portal was asked from its own loop, which would wait for itself", fix="await instead"
                )
            # A thread that is gone does nothing any more: a process that was forked off has none of ours.
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                work.close()
                raise UsageError("the portal is closed", fix="open it first, or use it in a `with` block")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """What still runs there is cancelled and waited for; then the thread has ended. Closing again does nothing."""
        with self._turn:
            loop, thread = self._loop, self._thread
            self._loop = None
            if loop is not None and not loop.is_closed():
                loop.call_soon_threadsafe(loop.stop)
        # Also by who comes second: they may rely on it as much.
        if thread is not None and not self.inside:
            thread.join()

    def _serve(self, started: "Future[asyncio.AbstractEventLoop]") -> None:
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            loop.call_soon(started.set_result, loop)
            loop.run_forever()
