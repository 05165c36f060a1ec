"""An audit log without room: what may do harm is refused, reading goes on, and nothing earlier is lost."""

import asyncio
import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.core.errors import NotWrittenDown
from bascule.records.audit import log
from bascule.store.audit import writer
from support.auditing import (
    RECEIPT,
    REFUSED,
    Asked,
    Full,
    Permit,
    checked,
    ended,
    fill,
    kinds,
    logged,
    opened,
)
from support.links import ALICE
from support.waiting import until


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Full]:
    full = Full(monkeypatch)
    yield full
    full.on = False


async def test_what_may_do_harm_is_refused_where_it_cannot_be_written_down(tmp_path: Path, disk: Full):
    async with opened(tmp_path) as audit:
        (number,) = fill(audit, 1)
        permit = audit.permit(Permit(), number)
        disk.on = True
        assert not permit.valid()
        with pytest.raises(NotWrittenDown) as caught:
            audit.ensure(number)
        for _ in range(50):
            with pytest.raises(NotWrittenDown):
                fill(audit, 1)

        assert caught.value.rule == "written_down_first"
        assert caught.value.evidence == "ENOSPC: No space left on device"
        assert "make room" in caught.value.fix
        assert str(tmp_path) not in f"{caught.value.message}{caught.value.evidence}{caught.value.fix}"
        # What is refused does not fill the memory either.
        assert audit._open is not None
        assert audit._open.writer.kept == 1


async def test_reading_goes_on_and_is_written_down_once_there_is_room(tmp_path: Path, disk: Full):
    async with opened(tmp_path) as audit:
        await asyncio.sleep(0)
        disk.on = True
        for _ in range(20):
            audit.sending(ALICE, Asked(), "tools/call", first=False, values=None)
            audit.note(ended())
            await asyncio.sleep(0)
        with pytest.raises(NotWrittenDown):
            fill(audit, 1)
        audit.note(ended(outcome=REFUSED))
        disk.on = False
        assert logged(tmp_path, "ended") == []
        fill(audit, 1)
        assert kinds(tmp_path) == ["began", *["ended"] * 21, "sending"]

    assert (await checked(tmp_path)).ok


async def test_it_goes_on_by_itself(tmp_path: Path, disk: Full):
    async with opened(tmp_path) as audit:
        disk.on = True
        audit.note(ended())
        await asyncio.sleep(0.01)
        disk.on = False
        await until(lambda: kinds(tmp_path) == ["began", "ended"])


async def test_when_too_much_waits_reading_is_refused_as_well(
    tmp_path: Path, disk: Full, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "MOST_KEPT", 5)
    async with opened(tmp_path) as audit:
        disk.on = True
        for _ in range(5):
            audit.sending(ALICE, Asked(), "tools/call", first=False, values=None)
            audit.note(ended())
            await asyncio.sleep(0)
        for values in (None, {"a": 1}):
            with pytest.raises(NotWrittenDown):
                audit.sending(ALICE, Asked(), "tools/call", first=False, values=values)
        assert audit.asked(ALICE, Asked(), "tools/call", {}) == 0
        # Of what was under way nothing is lost; of what was refused it is told how much.
        audit.note(ended())
        for _ in range(3):
            audit.note(ended(outcome=REFUSED))
        for _ in range(20):
            audit.note(ended())
        disk.on = False
        await until(lambda: "left_out" in kinds(tmp_path))

    assert kinds(tmp_path) == ["began", *["ended"] * 10, "left_out", "anchored"]
    assert logged(tmp_path, "left_out")[0]["count"] == 19
    assert (await checked(tmp_path)).ok


async def test_whole_arguments_of_what_reads_wait_for_room_too(tmp_path: Path, disk: Full):
    async with opened(tmp_path, whole=True) as audit:
        disk.on = True
        audit.note(ended())
        await asyncio.sleep(0)
        number = audit.sending(ALICE, Asked(), "tools/call", first=False, values={"a": 1})
        disk.on = False

    assert logged(tmp_path, "sending")[0]["seq"] == number


async def test_a_level_that_could_not_be_written_down_is_told_and_kept(tmp_path: Path, disk: Full):
    async with opened(tmp_path) as audit:
        disk.on = True
        with pytest.raises(NotWrittenDown, match="a level was changed"):
            await audit.level_changed(RECEIPT)
        with pytest.raises(NotWrittenDown):
            await audit.level_changed(None)
        with pytest.raises(NotWrittenDown):
            await audit.deed(ALICE, "end", None, "operator ada")
        disk.on = False
        await audit.level_changed(None)
        assert kinds(tmp_path) == ["began", "level"]


async def test_what_does_not_reach_the_disk_stops_what_may_do_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async with opened(tmp_path) as audit:
        with monkeypatch.context() as patch:
            patch.setattr(log, "sync_data", broken)
            with pytest.raises(NotWrittenDown, match="a level") as caught:
                await audit.level_changed(RECEIPT)
            assert caught.value.evidence == "EIO: Input/output error"
            with pytest.raises(NotWrittenDown):
                fill(audit, 1)
            assert audit.sending(ALICE, Asked(), "tools/call", first=False, values=None) == 0
        await audit.level_changed(None)
        fill(audit, 1)


async def test_an_end_without_room_is_told(tmp_path: Path, disk: Full, caplog: pytest.LogCaptureFixture):
    async with opened(tmp_path) as audit:
        audit.note(ended())
        disk.on = True

    assert "the end of the audit log, 1 records, could not be kept" in caplog.text
    disk.on = False
    async with opened(tmp_path):
        pass
    assert (await checked(tmp_path)).ok
