"""A whole log, verified."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bascule.records.audit import chain_slot
from bascule.records.audit.chain_slot import take_slot
from bascule.records.audit.damage import AuditCheck
from bascule.records.audit.records import Anchored
from bascule.records.audit.verify import check_log, check_state
from bascule.store.audit.anchors import Anchor, seal_anchor
from bascule.store.audit.file import AuditFile
from bascule.store.audit.folder import AuditFolder
from bascule.store.audit.writer import AuditWriter
from bascule.store.open import store_at
from bascule.store.secrets.key_files import FOLDER, KeyFiles
from bascule.store.secrets.keys import audit_key

KEY = b"k" * 32


class Log:
    """A log with what the store has of it."""

    def __init__(self, state: Path) -> None:
        self.folder = AuditFolder(state)
        self.id = self.folder.make()
        self.sealed: dict[str, object] = {}

    def write(self, *counts: int) -> list[Anchor]:
        """So many records in each of so many slots, the last of each anchored."""
        slots = [take_slot(self.folder, self.id, KEY, {}) for _ in counts]
        anchors: list[Anchor] = []
        for slot, count in zip(slots, counts, strict=True):
            writer = AuditWriter(slot.chain, slot.file)
            for _ in range(count):
                writer.put_now(Anchored(writer.next, 1.0))
            anchors.append(Anchor(slot.writer, *writer.head, 2.0))
            self.keep(anchors[-1])
            slot.free()
        return anchors

    def keep(self, anchor: Anchor, key: bytes = KEY) -> None:
        self.sealed[anchor.writer] = seal_anchor(anchor, key)

    def check(self, *given: Anchor) -> AuditCheck:
        return check_log(self.folder, list(self.folder.files()), KEY, self.sealed, given)

    def edit(self, name: str, change: Callable[[list[bytes]], list[bytes]]) -> None:
        path = self.folder.path / name
        path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def damage_of(check: AuditCheck) -> list[str]:
    return [damage.what for damage in (*check.damage, *(each for one in check.writers for each in one.damage))]


def test_a_log_as_it_was_written_is_proven_up_to_its_anchors(log: Log):
    anchors = log.write(5, 3)
    check = log.check()

    assert check.ok
    assert [(one.writer, one.files, one.records, one.after) for one in check.writers] == [
        (f"{log.id}-0001", ("0001.log",), 5, 0),
        (f"{log.id}-0002", ("0002.log",), 3, 0),
    ]
    assert [(one.proven, one.proven_by) for one in check.writers] == [(anchor, "store") for anchor in anchors]


def test_where_nothing_was_ever_logged_all_is_in_order(tmp_path: Path):
    assert check_log(AuditFolder(tmp_path), [], KEY, {}) == AuditCheck(())


def test_what_is_being_written_is_no_damage(log: Log):
    log.write(5)
    log.edit("0001.log", lambda lines: [*lines, b'{"kind":"half'])
    (one,) = log.check().writers

    assert (one.damages, one.unfinished) == (0, 13)


def test_records_after_the_anchor_are_told(log: Log):
    (anchor,) = log.write(5)
    log.write(3)
    log.keep(anchor)
    (one,) = log.check().writers

    assert (one.damages, one.after, one.proven) == (0, 3, anchor)


def test_what_was_cut_off_before_the_anchor_is_found(log: Log):
    log.write(5)
    log.edit("0001.log", lambda lines: lines[:3])
    check = log.check()
    (one,) = check.writers

    assert damage_of(check) == ["cut off"]
    assert "ends with record 3, and had 5: 2 were cut off" in one.damage[0].told
    assert (one.proven_by, one.proven and one.proven.sequence) == ("log", 3)


def test_what_was_cut_off_behind_the_anchor_cannot_be_found(log: Log):
    (anchor,) = log.write(5)
    log.write(3)
    log.keep(anchor)
    log.edit("0001.log", lambda lines: lines[:6])

    assert log.check().ok


def test_a_chain_that_is_gone_is_found(log: Log):
    log.write(5, 3)
    (log.folder.path / "0001.log").unlink()
    check = log.check()

    assert damage_of(check) == ["file missing"]
    assert "0001 is there, and it had 5 records" in check.damage[0].told


def test_a_chain_that_never_had_a_record_is_not_missed(log: Log):
    log.keep(Anchor(f"{log.id}-0001", 0, "00", 1.0))

    assert log.check().ok


def test_a_file_in_the_middle_that_is_gone_or_cut_is_found(log: Log, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chain_slot, "AuditFile", lambda folder, name: AuditFile(folder, name, segment=300))
    log.write(12)
    names = [path.name for path in log.folder.files()["0001"]]
    assert len(names) >= 4
    assert log.check().ok
    middle = log.folder.path / names[1]
    content = middle.read_bytes()
    middle.write_bytes(content[:-1])
    assert damage_of(log.check()) == ["altered"]
    middle.unlink()
    assert damage_of(log.check()) == ["removed"]
    middle.write_bytes(content)
    (log.folder.path / names[0]).unlink()
    assert damage_of(log.check()) == ["removed"]


def test_a_chain_in_the_place_of_another_is_found(log: Log):
    log.write(3, 3)
    log.edit("0002.log", lambda _: (log.folder.path / "0001.log").read_bytes().splitlines(keepends=True))

    assert damage_of(log.check())[0] == "altered"


def test_an_anchor_that_is_not_ours_is_found(log: Log):
    (anchor,) = log.write(5)
    log.keep(Anchor(anchor.writer, 2, anchor.mac, 2.0), b"o" * 32)
    assert damage_of(log.check()) == ["forged anchor", "anchor missing"]
    log.sealed[anchor.writer] = 7
    assert "forged anchor" in damage_of(log.check())


def test_a_true_anchor_in_the_place_of_another_is_found(log: Log):
    first, second = log.write(5, 3)
    log.sealed[first.writer] = log.sealed[second.writer]

    assert damage_of(log.check()) == ["forged anchor", "anchor missing"]


def test_an_anchor_that_was_removed_is_found(log: Log):
    log.write(5)
    log.sealed.clear()
    (one,) = log.check().writers

    assert [damage.what for damage in one.damage] == ["anchor missing"]


def test_anchors_of_other_state_folders_are_counted(log: Log):
    log.write(1)
    log.keep(Anchor("fedcba9876543210-0001", 9, "00", 1.0), b"o" * 32)
    check = log.check()

    assert (check.ok, check.elsewhere) == (True, 1)


def test_anchors_under_our_key_are_ours_whatever_the_folder_says(log: Log):
    log.write(5)
    for path in log.folder.path.iterdir():
        path.unlink()
    log.id = log.folder.make()
    log.write(1)

    assert damage_of(log.check()) == ["file missing"]


def test_a_folder_without_its_id_is_damaged(log: Log):
    log.write(5)
    (log.folder.path / "id").unlink()

    assert damage_of(log.check()) == ["id missing"]


def test_an_anchor_that_was_kept_elsewhere_counts_too(log: Log):
    (early,) = log.write(5)
    (late,) = log.write(3)
    assert log.check(early).ok
    (one,) = log.check(late).writers
    assert one.proven is not None
    log.edit("0001.log", lambda lines: lines[:6])
    log.keep(early)
    assert log.check().ok
    assert log.check(early).ok
    (one,) = log.check(late).writers
    assert [damage.what for damage in one.damage] == ["cut off"]
    assert damage_of(log.check(Anchor(early.writer, 5, "00" * 32, 0.0))) == ["replaced"]
    assert damage_of(log.check(Anchor("fedcba9876543210-0001", 9, "00", 0.0))) == ["file missing"]


def test_an_anchor_that_was_given_may_be_the_last_that_holds(log: Log):
    (early,) = log.write(5)
    (late,) = log.write(3)
    log.keep(early)
    (one,) = log.check(late).writers

    assert (one.proven, one.proven_by, one.after) == (late, "given", 0)


async def test_a_state_folder_is_checked_with_its_own_key_and_store(tmp_path: Path):
    store = store_at(None, tmp_path)
    await store.open()
    try:
        assert await check_state(tmp_path, store) == AuditCheck(())
        audit_key(KeyFiles(tmp_path / FOLDER), make=True)
        slot = take_slot(folder := AuditFolder(tmp_path), folder.make(), KEY, {})
        AuditWriter(slot.chain, slot.file).put_now(Anchored(1, 1.0))
        slot.free()
        check = await check_state(tmp_path, store)
    finally:
        await store.close()

    # It was written under another key, and the store knows nothing of it.
    assert not check.ok
