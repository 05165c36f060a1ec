"""What contracts are held to: every engine that keeps levels."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bascule.store.levels.interface import LevelStore
from support.level_stores import Place, place_at


@pytest.fixture
async def level_place(store_address: str | None, tmp_path: Path) -> AsyncGenerator[Place]:
    async with place_at(store_address, tmp_path / "state") as place:
        yield place


@pytest.fixture
async def level_store(level_place: Place) -> LevelStore:
    return await level_place.open()
