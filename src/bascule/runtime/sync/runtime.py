"""Blocking runtime for callers without an event loop; several holders can share it."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from bascule.core.errors import UsageError
from bascule.runtime.runtime import Runtime
from bascule.runtime.sync.background_runtime import Stay
from bascule.runtime.sync.session import SyncSession

T = TypeVar("T")


class Hold:
    """One user's claim to a runtime. It can be given up any number of times, by any thread; or use it in a `with`
    block. What is done through it ends with it."""

    def __init__(self, shared: "SyncRuntime") -> None:
        self._shared = shared
        self.busy: set[asyncio.Task[Any]] = set()
        """What is being done through it, in the runtime's thread."""
        self.given_up = False

    @property
    def released(self) -> bool:
        """Whether it was given up, or the runtime closed for all."""
        return self.given_up or self._shared.closing

    @property
    def closing(self) -> bool:
        return self.released

    def session(self, user_id: str, session_id: str) -> SyncSession:
        """The agent session of this principal. Requests that are under way when this hold is released end as
        aborted."""
        return SyncSession(self, user_id, session_id)

    def run(self, work: Callable[[Runtime], Coroutine[Any, Any, T]]) -> T:
        """Do something with the runtime, as `SyncRuntime.run` does."""
        if self.closing:
            raise UsageError("this hold on the runtime was released", fix="call `acquire()` again")
        return self._shared.run(work, self.busy)

    def release(self) -> None:
        """The last one to do so closes the runtime, and waits for that."""
        self._shared.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class SyncRuntime:
    """A runtime that lives in a thread of its own for as long as somebody holds it.

    `acquire` starts it for the first and shares it with all others; the last `release` closes it. After that it can be
    had again. `with SyncRuntime(runtime) as shared:` does both. The runtime given must not be running elsewhere.

    Any thread may use it, but for its own: callbacks and sinks of the runtime run there, and cannot wait for it. What
    is left open is closed when the main thread of the program ends.
    """

    def __init__(self, runtime: Runtime, *, name: str = "bascule") -> None:
        self._runtime = runtime
        self._name = name
        self._turn = threading.RLock()
        """Held while it opens and closes: who comes meanwhile waits for what comes of that."""
        self._holds: set[Hold] = set()
        self._mine: list[Hold] = []
        self._stay: Stay | None = None
        self._starting: Stay | None = None

    @property
    def runtime(self) -> Runtime:
        """The runtime itself. Its thread is another one: use `run` for everything that may change there."""
        return self._runtime

    @property
    def is_open(self) -> bool:
        stay = self._stay
        return stay is not None and not stay.closing

    @property
    def closing(self) -> bool:
        """Whether it is ending, or has."""
        return not self.is_open

    def acquire(self) -> Hold:
        """Have it run until this hold is released. Raises why it cannot run; nothing is left of it then."""
        self._not_from_inside()
        with self._turn:
            if self._stay is not None and self._stay.closing:
                # Whoever closed it was interrupted.
                self._leave()
            if self._stay is None:
                self._stay = self._begun()
            hold = Hold(self)
            self._holds.add(hold)
            return hold

    def release(self, hold: Hold) -> None:
        self._not_from_inside()
        with self._turn:
            if hold not in self._holds:
                return
            hold.given_up = True
            self._holds.discard(hold)
            if not self._holds:
                self._leave()
            elif self._stay is not None:
                self._stay.cancel(hold.busy)

    def close(self) -> None:
        """Close it for all who hold it, also while it opens. Calls that are being made are cancelled and end as
        aborted. Closing again does nothing."""
        self._not_from_inside()
        starting = self._starting
        if starting is not None:
            # Whoever opens it has the turn until that is over.
            starting.end()
        with self._turn:
            for hold in self._holds:
                hold.given_up = True
            self._holds.clear()
            self._leave()

    def session(self, user_id: str, session_id: str) -> SyncSession:
        """The agent session of this principal, to be used while the runtime runs. All who ask for one principal share
        what it has become."""
        return SyncSession(self, user_id, session_id)

    def run(self, work: Callable[[Runtime], Coroutine[Any, Any, T]], among: set[asyncio.Task[Any]] | None = None) -> T:
        """Do something with the runtime, in its thread, and wait for what comes of it. Whoever is interrupted meanwhile
        takes it back."""
        stay = self._stay
        if stay is None:
            raise UsageError("the runtime is not open", fix="call `acquire()` first, or use it in a `with` block")
        return stay.run(work, among)

    def __enter__(self) -> Self:
        self._mine.append(self.acquire())
        return self

    def __exit__(self, *_: object) -> None:
        self._mine.pop().release()

    def _begun(self) -> Stay:
        self._starting = Stay(self._runtime, self._name)
        try:
            self._starting.begin()
            return self._starting
        finally:
            self._starting = None

    def _leave(self) -> None:
        if self._stay is not None:
            try:
                self._stay.end()
            finally:
                # Interrupted, it is there still, and whoever closes or opens next waits for the rest.
                if self._stay.ended:
                    self._stay = None

    def _not_from_inside(self) -> None:
        for stay in (self._stay, self._starting):
            if stay is not None and stay.inside:
                raise UsageError(
                    "the runtime was to be opened or closed from its own thread, which would wait for itself",
                    fix="do it from another thread: callbacks and sinks run in the runtime's own",
                )
