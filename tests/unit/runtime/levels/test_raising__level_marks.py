"""Level marks of workspaces in a runtime: read when an agent session begins, written before a raise returns and before the
raise of another runtime is acknowledged."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bascule.core.errors import OutcomeWithheld
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.levels.operator import Operator
from bascule.runtime.levels.raising import Raising
from bascule.sensitivity.ratchet import Ratchets
from bascule.store.levels.interface import LevelStore
from bascule.store.levels.level_mark import LevelMark
from bascule.workspace.level_marks import LevelMarks
from bascule.workspace.mark_files import LOCK, MARK, MarkFiles
from bascule.workspace.workspace import Workspace, home_name
from support.auditing import Notes
from support.irregular import put
from support.level_stores import Place, place_at
from support.waiting import fail_after

ALICE = Principal("alice", "s-1")
PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
LABEL = Cause("label", "files", "read")
OTHER = "fedcba9876543210"


@dataclass
class Machine:
    """Levels of one runtime, and the folder of workspaces on its machine."""

    folder: Path
    store: LevelStore
    raising: Raising
    ratchets: Ratchets
    audit: Notes
    files: MarkFiles

    @property
    def home(self) -> Path:
        return self.folder / "workspaces" / home_name(ALICE)

    @property
    def level(self) -> DataSensitivity:
        return self.ratchets.of(ALICE).level

    @property
    def marks(self) -> LevelMarks:
        assert self.raising.marks is not None
        return self.raising.marks

    @property
    def mark(self) -> tuple[DataSensitivity, int]:
        found = self.files.find(ALICE)
        assert isinstance(found, LevelMark)
        return found.level, found.epoch

    def use(self) -> None:
        """Makes the workspace, with a file in it."""
        with Workspace.of(ALICE, self.folder / "workspaces") as workspace:
            self.marks.make(ALICE)
            workspace.write_text("notes.md", "private")

    def put(self, level: DataSensitivity, epoch: int, store: str = OTHER) -> None:
        self.use()
        self.files.write(LevelMark(ALICE.user_id, ALICE.session_id, level, epoch, store))


async def made(folder: Path, store: LevelStore) -> Machine:
    ratchets, audit = Ratchets(), Notes()
    raising = Raising(store, ratchets, lambda _: None, lambda: 7.0, audit)
    files = MarkFiles(folder / "workspaces", folder / "state")
    raising.marks = LevelMarks(files, store)
    await raising.marks.open()
    await raising.fence.open()
    return Machine(folder, store, raising, ratchets, audit, files)


@pytest.fixture
async def place(store_address: str | None, tmp_path: Path) -> AsyncGenerator[Place]:
    async with place_at(store_address, tmp_path / "state") as place:
        yield place


@pytest.fixture
async def machine(place: Place, tmp_path: Path) -> AsyncGenerator[Machine]:
    made_here = await made(tmp_path, await place.open())
    yield made_here
    await made_here.raising.close()


async def test_a_session_begins_at_the_level_of_a_mark_of_another_store_with_a_receipt(machine: Machine):
    machine.put(CONFIDENTIAL, 9)
    await machine.raising.begin(ALICE)
    assert machine.level is CONFIDENTIAL
    (receipt,) = await machine.store.receipts(ALICE)
    assert (receipt.before, receipt.after, receipt.cause.by) == (PUBLIC, CONFIDENTIAL, "level mark")
    assert [change.number for change in machine.audit.changes if change is not None] == [receipt.number]
    assert machine.mark == (CONFIDENTIAL, 1)


async def test_until_the_store_has_the_level_of_the_mark_the_session_is_secret(machine: Machine):
    machine.put(CONFIDENTIAL, 9)
    machine.audit.full = True
    with pytest.raises(OutcomeWithheld, match="audit log"):
        await machine.raising.begin(ALICE)
    assert machine.level >= CONFIDENTIAL


async def test_a_mark_in_doubt_is_secret_here_and_nowhere_in_the_store(machine: Machine):
    machine.use()
    (machine.home / MARK).unlink()
    await machine.raising.begin(ALICE)
    ratchet = machine.ratchets.of(ALICE)
    assert (ratchet.level, "level mark is gone" in ratchet.because) == (SECRET, True)
    assert await machine.store.receipts(ALICE) == ()
    record, _ = await machine.raising.kept(ALICE)
    assert (record.level, record.doubt) == (SECRET, ratchet.because)


async def test_a_raise_ends_no_doubt(machine: Machine):
    machine.use()
    put("a FIFO", machine.home / MARK)
    await machine.raising.begin(ALICE)
    await machine.raising.raise_to(ALICE, INTERNAL, LABEL)
    assert machine.level is SECRET
    assert [receipt.after for receipt in await machine.store.receipts(ALICE)] == [INTERNAL]


async def test_a_raise_is_in_the_mark_when_it_returns(machine: Machine):
    await machine.raising.begin(ALICE)
    machine.use()
    assert machine.mark == (PUBLIC, 0)
    await machine.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)
    assert machine.mark == (CONFIDENTIAL, 1)


async def test_a_workspace_that_is_made_while_its_level_rises_gets_the_higher_one(machine: Machine):
    await machine.raising.begin(ALICE)
    raising = machine.raising.start(ALICE, CONFIDENTIAL, LABEL)
    machine.use()
    assert machine.mark == (CONFIDENTIAL, 0)
    await raising
    assert machine.mark[0] is CONFIDENTIAL


async def test_a_raise_without_its_mark_is_withheld_and_tried_again(machine: Machine):
    await machine.raising.begin(ALICE)
    machine.use()
    (machine.home / LOCK).unlink()
    put("a folder", machine.home / LOCK)
    with pytest.raises(OutcomeWithheld) as caught:
        await machine.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)
    assert "a level mark cannot be written" in caught.value.evidence
    assert (machine.level, machine.mark) == (CONFIDENTIAL, (PUBLIC, 0))

    (machine.home / LOCK).rmdir()
    await machine.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)
    assert machine.mark == (CONFIDENTIAL, 1)


async def test_a_runtime_has_the_mark_written_when_it_acknowledges_a_raise(
    machine: Machine, place: Place, tmp_path: Path
):
    """Also that of an agent session that it has not begun itself."""
    there = await made(tmp_path / "there", await place.open())
    there.use()
    try:
        async with fail_after(20):
            await machine.raising.begin(ALICE)
            await machine.raising.raise_to(ALICE, SECRET, LABEL)
        (receipt,) = await machine.store.receipts(ALICE)
        assert receipt.fence == "1 other runtimes acknowledged"
        assert there.mark == (SECRET, 1)
    finally:
        await there.raising.close()


async def test_a_runtime_lowers_nothing_that_its_mark_still_has(machine: Machine, place: Place):
    """The operator works on another machine, which has neither the workspace nor its damaged mark."""
    await machine.raising.begin(ALICE)
    machine.use()
    await machine.raising.raise_to(ALICE, SECRET, LABEL)
    (machine.home / MARK).write_bytes(b"")
    elsewhere = Operator(await place.open(), "ada", lambda: 8.0, Notes())
    await elsewhere.declassify(ALICE, PUBLIC, "test data")
    await machine.raising.fence.renew()
    assert machine.level is SECRET

    here = Operator(await place.open(), "ada", lambda: 9.0, audit := Notes(), machine.marks)
    found = await here.find(ALICE)
    assert found is not None
    assert found.level is SECRET
    assert (await here.declassify(ALICE, PUBLIC, "test data")).record.level is PUBLIC
    await machine.raising.fence.renew()
    assert (machine.level, machine.mark[0]) == (PUBLIC, PUBLIC)
    changes = [(change.change, change.cause.by) for change in audit.changes if change is not None]
    assert changes == [("raise", "level mark"), ("declassify", "operator ada")]


async def test_what_is_forgotten_is_made_provisional_until_it_begins_again(machine: Machine):
    await machine.raising.begin(ALICE)
    assert machine.raising.forget(ALICE)
    machine.use()
    assert machine.mark == (SECRET, -1)
    await machine.raising.begin(ALICE)
    assert (machine.level, machine.mark) == (PUBLIC, (PUBLIC, 0))
