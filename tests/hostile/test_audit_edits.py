"""Somebody at the files of an audit log, who knows the format and has no key: whatever they do is found."""

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from bascule.records.audit import chain_slot
from bascule.records.audit.damage import AuditCheck
from bascule.records.audit.verify import check_log
from bascule.store.audit.chain import Chain, Macs
from bascule.store.audit.file import AuditFile
from bascule.store.audit.folder import AuditFolder
from bascule.store.sqlite.store import SqliteStore
from support.auditing import fill, opened
from support.links import BOB

Log = dict[str, bytes]
"""The files of a log, by name."""


@pytest.fixture
def seed() -> int:
    return random.SystemRandom().randrange(2**32)


@pytest.fixture
async def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two chains, one of them in several files, all of it anchored."""
    monkeypatch.setattr(chain_slot, "AuditFile", lambda folder, name: AuditFile(folder, name, segment=2500))
    for _ in range(3):
        async with opened(tmp_path) as first, opened(tmp_path) as second:
            for _ in range(10):
                fill(first, 1)
                first._write()
            fill(second, 5, BOB)
    return tmp_path


def _filled(log: Log) -> list[str]:
    """One that is empty holds nothing that could be missed."""
    return [name for name in sorted(log) if log[name]]


def byte(log: Log, chance: random.Random) -> None:
    name = chance.choice(_filled(log))
    place = chance.randrange(len(log[name]))
    content = bytearray(log[name])
    content[place] ^= 1 << chance.randrange(8)
    log[name] = bytes(content)


def _lines(log: Log, chance: random.Random) -> tuple[str, list[bytes]]:
    name = chance.choice([name for name in sorted(log) if log[name].count(b"\n") > 1])
    return name, log[name].splitlines(keepends=True)


def swap(log: Log, chance: random.Random) -> None:
    name, lines = _lines(log, chance)
    one, other = chance.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other], lines[one]
    log[name] = b"".join(lines)


def remove(log: Log, chance: random.Random) -> None:
    name, lines = _lines(log, chance)
    first = chance.randrange(len(lines))
    del lines[first : first + chance.choice((1, 1, 3, 10))]
    log[name] = b"".join(lines)


def duplicate(log: Log, chance: random.Random) -> None:
    name, lines = _lines(log, chance)
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    log[name] = b"".join(lines)


def remove_file(log: Log, chance: random.Random) -> None:
    del log[chance.choice(_filled(log))]


def cut(log: Log, chance: random.Random) -> None:
    name = chance.choice(_filled(log))
    log[name] = log[name][: chance.randrange(len(log[name]))]


def exchange(log: Log, chance: random.Random) -> None:
    one, other = chance.sample(_filled(log), 2)
    log[one], log[other] = log[other], log[one]


def rewrite(log: Log, chance: random.Random) -> None:
    """All of a chain, as its writer would do it, with a key of one's own."""
    slot = chance.choice(("0001", "0002"))
    chain = Chain(Macs(chance.randbytes(32), "0123456789abcdef-0001"))
    for name in sorted(name for name in log if name.startswith(slot)):
        bodies = (line[: line.rindex(b',"mac"')] + b"}\n" for line in log[name].splitlines())
        log[name] = chain.add(b"".join(bodies).replace(b"alice", b"mallo"))


def rehash(log: Log, chance: random.Random) -> None:
    """One record, with a MAC that somebody without the key makes up from what is there."""
    name, lines = _lines(log, chance)
    place = chance.randrange(len(lines))
    lines[place] = lines[place].replace(b'"tool":"write"', b'"tool":"wrote"').replace(b'"at":', b'"at":1')
    parts = lines[place][:-1]
    log[name] = b"".join(
        [*lines[:place], parts[:-66] + chance.randbytes(32).hex().encode() + b'"}\n', *lines[place + 1 :]]
    )


EDITS: tuple[Callable[[Log, random.Random], None], ...] = (
    *(byte, swap, remove, duplicate, remove_file, cut),
    *(exchange, rewrite, rehash),
)


def slot_of(name: str) -> str:
    return name[:4]


def first_difference(before: Log, after: Log) -> Iterator[tuple[str, int]]:
    """Of each slot that was changed, how many of its records are still as they were from the beginning."""
    for slot in ("0001", "0002"):
        old, new = (
            b"".join(
                log[name] for name in sorted(log, key=lambda name: (name.count(".") < 2, name)) if slot_of(name) == slot
            )
            for log in (before, after)
        )
        if old != new:
            same = 0
            for one, other in zip(old.splitlines(keepends=True), new.splitlines(keepends=True), strict=False):
                if one != other:
                    break
                same += 1
            yield slot, same


class Scene:
    """A log, the key and the anchors to verify it by, and the way back to what it was."""

    def __init__(self, state: Path, sealed: Mapping[str, object]) -> None:
        self._folder = AuditFolder(state)
        self._key = (state / "keys" / "audit.key").read_bytes()
        self._sealed = sealed
        self.log = {path.name: path.read_bytes() for path in self._folder.path.glob("*.log")}
        self._there = dict(self.log)

    def check(self) -> AuditCheck:
        return check_log(self._folder, list(self._folder.files()), self._key, self._sealed)

    def become(self, log: Log) -> None:
        for name in {*self._there, *log}:
            if self._there.get(name) != log.get(name):
                (self._folder.path / name).unlink(missing_ok=True)
                if name in log:
                    (self._folder.path / name).write_bytes(log[name])
        self._there = dict(log)


async def test_whatever_is_done_to_the_files_is_found(state: Path, scale: int, seed: int):
    store = SqliteStore(state / "bascule.db", state)
    scene = Scene(state, await store.anchors.sealed())
    await store.close()
    assert len(scene.log) >= 4
    assert scene.check().ok
    chance = random.Random(seed)
    for turn in range(200 * scale):
        after, edit = dict(scene.log), chance.choice(EDITS)
        edit(after, chance)
        differences = [*first_difference(scene.log, after)]
        if differences:
            scene.become(after)
            judge(scene.check(), differences, f"seed {seed}, turn {turn}, {edit.__name__}")
            scene.become(scene.log)
    assert scene.check().ok


def judge(found: AuditCheck, differences: list[tuple[str, int]], told: str) -> None:
    assert not found.ok, told
    for slot, same in differences:
        of_slot = [one for one in found.writers if one.writer.endswith(slot)]
        assert of_slot or any(slot in damage.told for damage in found.damage), told
        for one in of_slot:
            assert one.damages, told
            # The place is named: the first record that is not as it was.
            assert min(damage.sequence for damage in one.damage) == same + 1, told
            assert one.proven is None or one.proven.sequence <= same, told
