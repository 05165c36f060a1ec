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
from bascule.store.levels.level_mark import LevelMark
from bascule.workspace.directory import home_name
from bascule.workspace.mark_files import MarkFiles
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


@pytest.fixture
def marked(tmp_path: Path) -> Generator[KeptLevels]:
    """Levels beside workspaces, of which Alice has one."""
    kept = KeptLevels(tmp_path / "own", lambda: MarkFiles(tmp_path / "workspaces", tmp_path))
    (tmp_path / "workspaces" / home_name(ALICE) / "files").mkdir(parents=True)
    yield kept
    kept.close()


def mark_of(folder: Path) -> tuple[DataSensitivity, str]:
    found = MarkFiles(folder / "workspaces", folder).find(ALICE)
    assert isinstance(found, LevelMark)
    return found.level, found.store


async def test_a_new_workspace_gets_its_mark_at_the_level_that_is_kept(marked: KeptLevels, tmp_path: Path) -> None:
    marked.add(BOB, "patients", SECRET)
    marked.make_mark(ALICE)
    assert mark_of(tmp_path)[0] is PUBLIC


async def test_what_is_added_is_in_the_mark_when_that_returns(marked: KeptLevels, tmp_path: Path) -> None:
    marked.make_mark(ALICE)
    marked.add(ALICE, "patients", CONFIDENTIAL)
    assert mark_of(tmp_path)[0] is CONFIDENTIAL


async def test_the_mark_of_a_runtime_counts_and_stays_until_something_is_added(
    marked: KeptLevels, tmp_path: Path
) -> None:
    files = MarkFiles(tmp_path / "workspaces", tmp_path)
    files.make(LevelMark(ALICE.user_id, ALICE.session_id, CONFIDENTIAL, 4, "of a runtime"))
    assert await marked.look(ALICE) is CONFIDENTIAL
    assert (marked.seen(ALICE), marked.look_now(ALICE)) == (CONFIDENTIAL, CONFIDENTIAL)
    assert mark_of(tmp_path) == (CONFIDENTIAL, "of a runtime")

    # No declassification in the store of the runtime, on another machine, lowers what is handed out here.
    marked.add(ALICE, "weather", CONFIDENTIAL)
    level, store = mark_of(tmp_path)
    assert (level, store != "of a runtime") == (CONFIDENTIAL, True)
    marked.add(ALICE, "patients", SECRET)
    assert mark_of(tmp_path) == (SECRET, store)


async def test_what_this_server_has_seen_counts_beside_a_mark_that_was_lowered(
    marked: KeptLevels, tmp_path: Path
) -> None:
    files = MarkFiles(tmp_path / "workspaces", tmp_path)
    marked.make_mark(ALICE)
    marked.add(ALICE, "patients", SECRET)
    with files.locked(ALICE):
        files.write(LevelMark(ALICE.user_id, ALICE.session_id, PUBLIC, 5, "of a runtime"))
    assert await marked.look(ALICE) is SECRET


async def test_a_mark_that_is_gone_is_secret(marked: KeptLevels, tmp_path: Path) -> None:
    assert await marked.look(ALICE) is PUBLIC
    (tmp_path / "workspaces" / home_name(ALICE) / "files/note").write_text("private")
    assert await marked.look(ALICE) is SECRET


async def test_what_cannot_be_marked_is_not_added(marked: KeptLevels, tmp_path: Path) -> None:
    marked.make_mark(ALICE)
    lock = tmp_path / "workspaces" / home_name(ALICE) / "level.lock"
    lock.unlink()
    lock.mkdir()
    with pytest.raises(StoreError, match="level mark cannot be written"):
        marked.add(ALICE, "patients", CONFIDENTIAL)
    assert marked.look_now(ALICE) is CONFIDENTIAL
