"""An audit log under its writers: several at once, and killed at any moment."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.auditing import checked, logged, opened

PROGRAM = Path(__file__).with_name("audit_writers.py")
LONGEST = 300
"""Seconds for one program, on a busy machine."""


def run(state: Path, *arguments: object) -> None:
    argv = [sys.executable, str(PROGRAM), str(state), *map(str, arguments)]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert ended.returncode == 0, ended.stderr


def acknowledged(state: Path) -> set[tuple[str, int]]:
    """Slot and number of every record that a writer was told is in the log."""
    lines = [line.split() for path in state.glob("acks-*") for line in path.read_text().splitlines()]
    return {(slot, int(number)) for slot, number in lines}


def found(state: Path) -> set[tuple[str, int]]:
    slots = sorted({path.name[:4] for path in (state / "audit").glob("*.log")})
    return {(slot, record["seq"]) for slot in slots for record in logged(state, slot=slot)}


@pytest.mark.long
async def test_several_writers_at_once_leave_chains_that_verify(tmp_path: Path, tell: Callable[[str], None]):
    run(tmp_path / "state", "together", 4, 500)
    check = await checked(tmp_path / "state")
    tell(f"{[one.records for one in check.writers]} records")

    assert check.ok
    assert sum(one.records for one in check.writers) >= 2000
    assert all(one.after == 0 for one in check.writers)
    acks = acknowledged(tmp_path / "state")
    assert len(acks) >= 2000
    assert acks <= found(tmp_path / "state")


@pytest.mark.long
async def test_no_acknowledged_record_is_lost_when_its_writer_is_killed(
    tmp_path: Path, scale: int, seed: int, tell: Callable[[str], None]
):
    state, kills = tmp_path / "state", 5 * scale
    run(state, "killed", kills, seed)
    assert acknowledged(state) <= found(state), f"seed {seed}"
    before = await checked(state)
    assert [one.damage for one in before.writers] == [()], f"seed {seed}"
    async with opened(state):
        pass
    check = await checked(state)
    torn = [record["cut"] for record in logged(state, "resumed") if "cut" in record]
    tell(f"{kills} kills, {len(acknowledged(state))} records acknowledged, torn ends: {torn}")

    assert check.ok, f"seed {seed}"
    assert len(check.writers) == 1
    assert len(logged(state, "resumed")) == kills
