"""Position in the history of a store: the last receipt by number and fingerprint, and the database that holds it."""

from pathlib import Path

import pytest

from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.position import Position, fingerprint, position_after
from support.level_stores import place_at

ALICE = Principal("alice", "s1")


def test_fingerprints_differ_by_principal_epoch_and_time():
    found = {
        fingerprint(ALICE, 1, 10.0),
        fingerprint(Principal("alice", "s2"), 1, 10.0),
        fingerprint(ALICE, 2, 10.0),
        fingerprint(ALICE, 1, 10.5),
    }

    assert len(found) == 4


async def test_a_position_is_that_of_the_last_receipt_or_of_a_number(store_address: str | None, tmp_path: Path):
    async with place_at(store_address, tmp_path) as place:
        levels = await place.open()
        empty = await levels.position()
        for level in (DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET):
            await levels.raise_level(ALICE, level, Cause("test"), 10.0 + level)

        assert (empty.number, empty.fingerprint) == (0, "")
        assert await levels.position() == Position(2, fingerprint(ALICE, 2, 13.0), empty.origin)
        assert await levels.position(1) == Position(1, fingerprint(ALICE, 1, 12.0), empty.origin)
        assert await levels.position(3) == empty


async def test_a_receipt_that_a_change_returns_has_the_position_of_the_stored_one(
    store_address: str | None, tmp_path: Path
):
    async with place_at(store_address, tmp_path) as place:
        levels = await place.open()
        _, receipt = await levels.raise_level(ALICE, DataSensitivity.SECRET, Cause("test"), 1700000000.1234567)
        assert receipt is not None
        await levels.complete_receipt(receipt.number, ("files open",), {"files": "declared"}, "alone")
        last = await levels.position()

    assert last == position_after(receipt, last.origin)


async def test_each_store_has_an_origin_of_its_own(tmp_path: Path):
    async with place_at(None, tmp_path / "one") as one, place_at(None, tmp_path / "two") as two:
        origins = [(await (await place.open()).position()).origin for place in (one, two)]

    assert len(set(origins)) == 2


@pytest.mark.parametrize("number", [-1, 0])
async def test_no_receipt_has_such_a_number(number: int, tmp_path: Path):
    async with place_at(None, tmp_path) as place:
        assert (await (await place.open()).position(number)).number == 0
