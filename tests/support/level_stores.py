"""Each engine that keeps levels, as several processes have it: some stores on one place."""

import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from bascule.store.interface import Store
from bascule.store.levels.interface import LevelStore
from bascule.store.open import FILE, store_at
from support.postgres import execute


@dataclass
class Place:
    """Where one engine keeps levels for one test. Every store that is opened there is closed with it."""

    make: Callable[[], Store]
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def open(self) -> LevelStore:
        """As another process has it: a store of its own."""
        return (await self.open_store()).levels

    async def open_store(self) -> Store:
        store = self.make()
        await store.open()
        self._stack.push_async_callback(store.close)
        return store

    async def close(self) -> None:
        await self._stack.aclose()


@asynccontextmanager
async def place_at(address: str | None, folder: Path) -> AsyncGenerator[Place]:
    place = Place(lambda: store_at(address, folder))
    try:
        yield place
    finally:
        await place.close()


class Statements(Protocol):
    """Runs one statement in the database of a store, as a person with write access would."""

    def __call__(self, statement: str, /, *values: Any) -> list[tuple[Any, ...]]: ...


def statements_at(address: str | None, folder: Path) -> Statements:
    """In the words of PostgreSQL, for either engine."""

    def in_sqlite(statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(folder / FILE, isolation_level=None, timeout=20)) as db:
            return db.execute(statement.replace("bascule.", "").replace("%s", "?"), values).fetchall()

    return in_sqlite if address is None else partial(execute, address)


@pytest.fixture(params=["postgres", "sqlite"])
def store_address(request: pytest.FixtureRequest) -> str | None:
    """What the config names as `store`, for each engine: nothing for SQLite, which then has a file in the state folder."""
    # PostgreSQL is asked for only here: without it, SQLite is held to its contract all the same.
    return request.getfixturevalue("database") if request.param == "postgres" else None
