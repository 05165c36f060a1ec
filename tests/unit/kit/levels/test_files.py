import asyncio
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import enumerate as threads

import pytest

from bascule.core.errors import StoreError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.levels.files import KeptLevels
from bascule.store.levels.interface import SessionRecord
from support.kit import ALICE, BOB
from support.waiting import fail_after

PUBLIC, CONFIDENTIAL, SECRET = DataSensitivity.PUBLIC, DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET


@pytest.fixture
def levels(tmp_path: Path) -> Generator[KeptLevels]:
    kept = KeptLevels(tmp_path)
    yield kept
    kept.close()


async def test_who_was_never_looked_at_has_no_level_here(levels: KeptLevels) -> None:
    assert levels.seen(ALICE) is None
    assert await levels.look(ALICE) is PUBLIC
    assert levels.seen(ALICE) is PUBLIC


async def test_a_dataset_raises_the_level_of_one_agent_session_and_never_lowers_it(levels: KeptLevels) -> None:
    levels.add(ALICE, "patients", SECRET)
    levels.add(ALICE, "weather", CONFIDENTIAL)

    assert (levels.seen(ALICE), await levels.look(ALICE)) == (SECRET, SECRET)
    assert await levels.look(BOB) is PUBLIC


async def test_what_is_added_is_kept_when_that_returns(levels: KeptLevels, tmp_path: Path) -> None:
    levels.add(ALICE, "patients", CONFIDENTIAL)

    other = KeptLevels(tmp_path)
    assert other.look_now(ALICE) is CONFIDENTIAL
    other.close()


async def test_what_another_process_has_added_is_seen_by_the_next_look(levels: KeptLevels, tmp_path: Path) -> None:
    assert await levels.look(ALICE) is PUBLIC
    other = KeptLevels(tmp_path)
    other.add(ALICE, "patients", CONFIDENTIAL)
    other.close()

    assert await levels.look(ALICE) is CONFIDENTIAL


async def test_it_may_be_asked_in_a_step_of_the_loop_and_from_many_threads(levels: KeptLevels) -> None:
    # In the loop's own thread: nothing here may wait for that loop.
    levels.add(BOB, "patients", CONFIDENTIAL)
    assert levels.look_now(BOB) is CONFIDENTIAL

    with ThreadPoolExecutor(8) as pool:
        for number in range(16):
            pool.submit(levels.add, ALICE, f"set-{number}", CONFIDENTIAL)
    assert await levels.look(ALICE) is CONFIDENTIAL


async def test_an_answer_that_was_overtaken_does_not_hide_a_raise(levels: KeptLevels) -> None:
    levels._note(ALICE, SessionRecord(ALICE, CONFIDENTIAL, epoch=2))
    levels._note(ALICE, SessionRecord(ALICE, PUBLIC, epoch=1))
    assert levels.seen(ALICE) is CONFIDENTIAL

    # An operator has declassified it since.
    levels._note(ALICE, SessionRecord(ALICE, PUBLIC, epoch=3))
    assert levels.seen(ALICE) is PUBLIC


async def test_a_store_that_cannot_be_read_is_an_error_and_never_a_level(tmp_path: Path) -> None:
    (tmp_path / "bascule.db").write_bytes(b"no database at all" * 100)
    levels = KeptLevels(tmp_path)

    with pytest.raises(StoreError):
        await levels.look(ALICE)
    with pytest.raises(StoreError):
        levels.look_now(ALICE)
    with pytest.raises(StoreError):
        levels.add(ALICE, "patients", CONFIDENTIAL)
    assert levels.seen(ALICE) is None
    levels.close()


async def test_closing_answers_everybody_who_asked_and_it_opens_again(levels: KeptLevels) -> None:
    asked = [asyncio.create_task(levels.look(who)) for who in (ALICE, BOB) for _ in range(20)]
    await asyncio.sleep(0)
    levels.close()
    levels.close()

    async with fail_after(20, "the answers"):
        assert await asyncio.gather(*asked) == [PUBLIC] * 40
    assert "bascule levels" not in {thread.name for thread in threads()}
    levels.add(ALICE, "patients", CONFIDENTIAL)
    assert await levels.look(ALICE) is CONFIDENTIAL


async def test_moved_it_forgets_what_is_kept_in_the_other_folder_and_finds_it_again(tmp_path: Path) -> None:
    levels = KeptLevels(tmp_path / "a")
    levels.add(ALICE, "patients", CONFIDENTIAL)

    levels.move(tmp_path / "b")
    assert levels.seen(ALICE) is None
    assert await levels.look(ALICE) is PUBLIC
    levels.move(tmp_path / "a")

    assert await levels.look(ALICE) is CONFIDENTIAL
    levels.close()
