"""Each engine that keeps levels, as several processes have it: some stores on one place."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bascule.store.interface import Store
from bascule.store.levels.interface import LevelStore
from bascule.store.open import store_at


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


@pytest.fixture(params=["postgres", "sqlite"])
def store_address(request: pytest.FixtureRequest) -> str | None:
    """What the config names as `store`, for each engine: nothing for SQLite, which then has a file in the state folder."""
    # PostgreSQL is asked for only here: without it, SQLite is held to its contract all the same.
    return request.getfixturevalue("database") if request.param == "postgres" else None
