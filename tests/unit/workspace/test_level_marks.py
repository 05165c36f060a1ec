"""Level marks of all workspaces of a store: followed, kept, lowered, and made for workspaces that are older."""

import asyncio
import errno
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import LevelStore, SessionRecord
from bascule.store.levels.level_mark import LOST, PROVISIONAL, STORE_BEHIND, Absent, LevelMark, Unusable
from bascule.workspace.level_marks import LevelMarks
from bascule.workspace.mark_files import LOCK, MARK, MarkFiles
from bascule.workspace.workspace import Workspace, home_name
from support.irregular import put
from support.level_stores import Place, place_at

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
LABEL, ADA = Cause("label"), Cause("operator ada")


@pytest.fixture
async def place(store_address: str | None, tmp_path: Path) -> AsyncGenerator[Place]:
    async with place_at(store_address, tmp_path / "state") as made:
        yield made


@pytest.fixture
async def store(place: Place) -> LevelStore:
    return await place.open()


@pytest.fixture
def files(tmp_path: Path) -> MarkFiles:
    return MarkFiles(tmp_path / "workspaces", tmp_path / "state")


@pytest.fixture
async def marks(files: MarkFiles, store: LevelStore) -> LevelMarks:
    made = LevelMarks(files, store)
    assert await made.open() == 0
    return made


def used(folder: Path, who: Principal = ALICE) -> Path:
    with Workspace.of(who, folder / "workspaces") as workspace:
        workspace.write_text("notes.md", "private")
    return folder / "workspaces" / home_name(who)


def found(files: MarkFiles, who: Principal = ALICE) -> tuple[DataSensitivity, int]:
    mark = files.find(who)
    assert isinstance(mark, LevelMark)
    return mark.level, mark.epoch


async def raised(store: LevelStore, level: DataSensitivity, who: Principal = ALICE) -> SessionRecord:
    return (await store.raise_level(who, level, LABEL, 1.0))[0]


async def test_a_session_without_a_workspace_has_no_mark(marks: LevelMarks, files: MarkFiles, store: LevelStore):
    record = await raised(store, SECRET)
    assert await marks.follow((record,)) == (record,)
    await marks.keep(record)
    assert files.find(ALICE) is Absent.NO_WORKSPACE


async def test_a_raise_is_kept_beside_the_files(marks: LevelMarks, files: MarkFiles, store: LevelStore, tmp_path: Path):
    (tmp_path / "workspaces" / home_name(ALICE)).mkdir(parents=True)
    record = await raised(store, CONFIDENTIAL)
    await marks.keep(record)
    assert found(files) == (CONFIDENTIAL, record.epoch)


async def test_a_record_that_another_has_changed_is_followed(
    marks: LevelMarks, files: MarkFiles, store: LevelStore, tmp_path: Path
):
    used(tmp_path)
    files.write(LevelMark("alice", "s-1", PUBLIC, 0, marks._store))
    record = await raised(store, SECRET)
    assert await marks.judge((record,)) == (record,)
    assert found(files) == (PUBLIC, 0)
    assert await marks.follow((record,)) == (record,)
    assert found(files) == (SECRET, record.epoch)


async def test_only_a_declassification_after_the_mark_lowers_it(
    marks: LevelMarks, files: MarkFiles, store: LevelStore, tmp_path: Path
):
    home = tmp_path / "workspaces" / home_name(ALICE)
    home.mkdir(parents=True)
    await marks.keep(await raised(store, SECRET))
    used(tmp_path)
    record, _ = await store.lower_level(ALICE, PUBLIC, ADA, 2.0)
    assert await marks.judge((record,)) == (record,)
    assert found(files) == (SECRET, 1)
    assert await marks.follow((record,)) == (record,)
    assert found(files) == (PUBLIC, 2)

    files.write(LevelMark("alice", "s-1", CONFIDENTIAL, 2, marks._store))
    (counted,) = await marks.follow((record,))
    assert (counted.level, counted.doubt) == (CONFIDENTIAL, "")


async def test_a_raise_after_a_declassification_elsewhere_does_not_keep_the_old_level(
    marks: LevelMarks, files: MarkFiles, store: LevelStore, tmp_path: Path
):
    (tmp_path / "workspaces" / home_name(ALICE)).mkdir(parents=True)
    await marks.keep(await raised(store, SECRET))
    await store.lower_level(ALICE, PUBLIC, ADA, 2.0)
    await marks.keep(await raised(store, INTERNAL))
    assert found(files) == (INTERNAL, 3)


async def test_the_doubt_of_a_store_is_not_written_into_a_mark(marks: LevelMarks, files: MarkFiles, tmp_path: Path):
    used(tmp_path)
    files.write(LevelMark("alice", "s-1", INTERNAL, 1, marks._store))
    doubted = SessionRecord(ALICE, SECRET, 1, doubt="its row cannot be read")
    assert await marks.follow((doubted,)) == (doubted,)
    assert found(files) == (INTERNAL, 1)
    # What was raised in the meantime is.
    await marks.keep(doubted)
    assert found(files) == (SECRET, 1)


async def test_an_older_store_with_the_same_id_is_in_doubt(
    marks: LevelMarks, files: MarkFiles, store: LevelStore, tmp_path: Path
):
    record = await store.begin(ALICE, 1.0)
    used(tmp_path)
    files.write(LevelMark("alice", "s-1", INTERNAL, 5, marks._store))
    (counted,) = await marks.follow((record,))
    assert (counted.level, counted.doubt) == (SECRET, STORE_BEHIND)
    await marks.keep(await raised(store, CONFIDENTIAL))
    assert found(files) == (CONFIDENTIAL, 5)


async def test_a_new_workspace_gets_its_mark_at_the_level_that_was_noted(
    marks: LevelMarks, files: MarkFiles, tmp_path: Path
):
    for who in (ALICE, BOB):
        (tmp_path / "workspaces" / home_name(who)).mkdir(parents=True)
        marks.note(who, INTERNAL, 3)
    marks.forget(BOB)
    marks.make(ALICE)
    marks.make(BOB)
    assert (found(files), found(files, BOB)) == ((INTERNAL, 3), (SECRET, PROVISIONAL))
    # Its own store replaces a provisional one.
    record = SessionRecord(BOB, PUBLIC)
    assert await marks.follow((record,)) == (record,)
    assert found(files, BOB) == (PUBLIC, 0)


async def test_a_raise_that_was_declassified_before_its_mark_was_written_leaves_the_mark(
    marks: LevelMarks, files: MarkFiles, store: LevelStore, tmp_path: Path
):
    used(tmp_path)
    record = await raised(store, SECRET)
    async with marks.lowering(ALICE):
        await marks.lower((await store.lower_level(ALICE, PUBLIC, ADA, 2.0))[0])
    await marks.keep(record)
    assert found(files) == (PUBLIC, 2)


# By an operator


async def test_an_operator_replaces_whatever_is_there(
    marks: LevelMarks, files: MarkFiles, store: LevelStore, tmp_path: Path
):
    put("a folder", used(tmp_path) / MARK)
    await raised(store, SECRET)
    async with marks.lowering(ALICE):
        record, _ = await store.lower_level(ALICE, INTERNAL, ADA, 2.0)
        await marks.lower(record)
    assert found(files) == (INTERNAL, 2)


async def test_a_runtime_that_follows_a_declassification_waits_for_the_new_mark(
    marks: LevelMarks, files: MarkFiles, store: LevelStore, tmp_path: Path
):
    (used(tmp_path) / MARK).write_bytes(b"")
    await raised(store, SECRET)
    async with marks.lowering(ALICE):
        record, _ = await store.lower_level(ALICE, PUBLIC, ADA, 2.0)
        following = asyncio.create_task(marks.follow((record,)))
        # It reads the damaged mark first, and then waits for the lock.
        await asyncio.to_thread(lambda: None)
        await marks.lower(record)
    assert await following == (record,)


async def test_where_there_is_no_workspace_nothing_is_lowered(marks: LevelMarks, store: LevelStore):
    await raised(store, SECRET)
    async with marks.lowering(ALICE):
        await marks.lower((await store.lower_level(ALICE, PUBLIC, ADA, 2.0))[0])


# Failures


async def test_a_mark_that_cannot_be_written_is_an_error_that_names_it(
    marks: LevelMarks, store: LevelStore, tmp_path: Path
):
    home = tmp_path / "workspaces" / home_name(ALICE)
    home.mkdir(parents=True)
    put("a FIFO", home / LOCK)
    record = await raised(store, SECRET)
    with pytest.raises(StoreError, match="cannot be written: it is a FIFO") as caught:
        await marks.keep(record)
    assert caught.value.evidence == str(home / LOCK)
    with pytest.raises(StoreError, match="FIFO"):
        async with marks.lowering(ALICE):
            pass
    # A runtime that follows has the level from the store.
    assert await marks.follow((record,)) == (record,)


async def test_a_full_disk_is_an_error(
    marks: LevelMarks, files: MarkFiles, store: LevelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "workspaces" / home_name(ALICE)).mkdir(parents=True)

    def full(_: LevelMark) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "level.new")

    monkeypatch.setattr(files, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        await marks.keep(await raised(store, SECRET))


# Workspaces that are older than marks


async def test_workspaces_of_known_sessions_get_their_marks_once(files: MarkFiles, store: LevelStore, tmp_path: Path):
    carol = Principal("carol", "s-1")
    for who, level in ((ALICE, SECRET), (BOB, PUBLIC)):
        used(tmp_path, who)
        await raised(store, level, who)
    used(tmp_path, carol)
    marks = LevelMarks(files, store)
    assert await marks.open() == 2
    assert (found(files), found(files, BOB)) == ((SECRET, 1), (PUBLIC, 0))
    # Nothing is known of the files of a session that this store has not.
    assert files.find(carol) == Unusable(LOST)

    (tmp_path / "workspaces" / home_name(BOB) / MARK).unlink()
    assert await LevelMarks(files, store).open() == 0
    assert files.find(BOB) == Unusable(LOST)


async def test_the_mark_of_a_session_in_doubt_is_provisional(files: MarkFiles, tmp_path: Path):
    used(tmp_path)
    async with place_at(None, tmp_path / "state") as place:
        store = await place.open()
        await raised(store, INTERNAL)
        journal = tmp_path / "state/bascule.db-raises"
        journal.write_bytes(journal.read_bytes().splitlines()[0] + b"\n")
        assert await LevelMarks(files, store).open() == 0
    assert found(files) == (SECRET, PROVISIONAL)


async def test_a_folder_of_workspaces_that_cannot_be_read_gets_its_marks_later(
    files: MarkFiles, store: LevelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "workspaces").write_text("a file")
    assert await LevelMarks(files, store).open() == 0
    (tmp_path / "workspaces").unlink()
    used(tmp_path)
    await raised(store, INTERNAL)

    def closed() -> frozenset[str]:
        raise PermissionError(13, "Permission denied")

    later = MarkFiles(tmp_path / "workspaces", tmp_path / "other")
    with monkeypatch.context() as patch:
        patch.setattr(later, "homes", closed)
        assert await LevelMarks(later, store).open() == 0
    assert not later.complete
    assert await LevelMarks(later, store).open() == 1


async def test_a_second_store_leaves_the_marks_of_the_first(files: MarkFiles, store: LevelStore, tmp_path: Path):
    used(tmp_path)
    await raised(store, INTERNAL)
    await LevelMarks(files, store).open()
    async with place_at(str(tmp_path / "other.db"), tmp_path / "state") as place:
        other = await place.open()
        kit = LevelMarks(MarkFiles(tmp_path / "workspaces", tmp_path / "state"), other, claim=False)
        record = await other.begin(ALICE, 1.0)
        assert await kit.open() == 0
        (counted,) = await kit.judge((record,))
        assert (counted.level, found(files)) == (INTERNAL, (INTERNAL, 1))
        # It writes what is higher.
        await kit.keep(await raised(other, SECRET))
        assert found(files) == (SECRET, 1)


async def test_a_record_that_was_read_before_a_change_is_not_behind(
    marks: LevelMarks, files: MarkFiles, store: LevelStore, tmp_path: Path
):
    """Another process raises the level, and its mark, between the read of the record and that of the mark."""
    (tmp_path / "workspaces" / home_name(ALICE)).mkdir(parents=True)
    older = await store.begin(ALICE, 1.0)
    await marks.keep(await raised(store, INTERNAL))
    for counted in (*await marks.judge((older,)), *await marks.follow((older,))):
        assert (counted.level, counted.doubt) == (INTERNAL, "")
    assert found(files) == (INTERNAL, 1)
