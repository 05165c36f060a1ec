"""Deadline of a wait for the store: operations that one caller waits for in a row have 15 s together, with each engine.

A runtime that gave each operation 15 s of its own would keep a call waiting for their sum while the database is paused
or locked."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from time import monotonic

from bascule.core.errors import StoreError

LONGEST = 15.0
"""Seconds that one caller waits for the store in all. In a crowd SQLite is not fair: of fifty processes that raise
levels as fast as they can, on a busy machine, some wait for seven. To give up would make an agent session SECRET."""


class StoreWait:
    """One wait for the store, of one or more operations. Its time runs only while an operation is waited for."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = LONGEST
        """Seconds until the deadline."""

    @contextmanager
    def spend(self) -> Generator[float]:
        """Seconds that one operation may take. The time that it takes is subtracted from the rest."""
        began = monotonic()
        try:
            yield max(self.left, 0.0)
        finally:
            self.left -= monotonic() - began

    @contextmanager
    def shared(self) -> Generator[None]:
        """All operations of the store in this block are part of this wait. The block contains nothing else: a task
        that starts in it and goes on afterwards would inherit a deadline that is over."""
        token = _SHARED.set(self)
        try:
            yield
        finally:
            _SHARED.reset(token)

    @asynccontextmanager
    async def limited(self) -> AsyncGenerator[None]:
        """Wait in this block for work on the store that continues without this caller. Raises `StoreError` at the
        deadline."""
        with self.spend() as seconds:
            deadline = asyncio.timeout(seconds)
            try:
                async with deadline:
                    yield
            except TimeoutError:
                if not deadline.expired():
                    raise
                raise overdue() from None


_SHARED: ContextVar[StoreWait | None] = ContextVar("store_wait", default=None)


def current_wait() -> StoreWait:
    """The wait that an operation is part of: a new one outside of `shared`."""
    return _SHARED.get() or StoreWait()


def overdue() -> StoreError:
    return StoreError(
        f"the store did not answer within {LONGEST:g} s",
        cause="the database is paused, locked by another program, or under load",
        fix="see that the database of `store` answers and that nothing locks it; `bascule doctor` looks at it",
    )
