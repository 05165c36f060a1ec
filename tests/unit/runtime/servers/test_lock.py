"""The lock as a file."""

import multiprocessing
import os
import threading
import time
from pathlib import Path

import pytest

from bascule.catalog.pinning.lock import LockedServers, read_lock, write_lock
from bascule.core.errors import ConfigError
from bascule.runtime.servers import lock
from bascule.runtime.servers.lock import change_lock, lock_path, look_at_lock
from support.locks import RICH, approved, lock_in

OTHER = {**RICH, "name": "other"}
LATER = 1e12
"""So late that the file was surely written long before."""


def test_the_lock_lies_beside_the_config():
    assert lock_path(Path("/a/b/bascule.yaml")) == Path("/a/b/bascule.lock")
    assert lock_path(None) is None


def test_what_the_file_says_is_found(tmp_path: Path):
    path = tmp_path / "bascule.lock"
    assert look_at_lock(path, None, 0).content is None
    lock_in(tmp_path, work=(RICH,))
    assert look_at_lock(path, None, 0).content == {"work": approved(RICH)}


def test_a_file_that_cannot_have_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = lock_in(tmp_path, work=(RICH,))
    first = look_at_lock(path, None, LATER)
    monkeypatch.setattr(lock, "_read", lambda _path: pytest.fail("it was read"))
    assert look_at_lock(path, first, LATER) is first


def test_a_file_that_was_just_written_is_read_again_and_says_the_same(tmp_path: Path):
    path = lock_in(tmp_path, work=(RICH,))
    first = look_at_lock(path, None, time.time())
    stamp = path.stat()
    data = path.read_bytes().replace(b'"Act"', b'"Ack"')
    path.write_bytes(data)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert isinstance(look_at_lock(path, first, time.time()).content, ConfigError)
    path.write_bytes(data.replace(b'"Ack"', b'"Act"'))
    again = look_at_lock(path, first, time.time())
    assert again.content is first.content


def test_two_writes_in_one_tick_of_the_file_systems_clock_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, now = lock_in(tmp_path, work=(RICH,)), time.time()
    stamp = (int(now * 1e9), int(now * 1e9), 1, 1)
    monkeypatch.setattr(lock, "_stamp", lambda _status: stamp)
    first = look_at_lock(path, None, now + 1)
    lock_in(tmp_path, work=(OTHER,))
    assert look_at_lock(path, first, now + 1).content == {"work": approved(OTHER)}


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop", "large", "broken"])
def test_what_cannot_be_read_is_trouble_and_told_once(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "bascule.lock"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "large":
            monkeypatch.setattr(lock, "MAX_LOCK", 10)
            lock_in(tmp_path, work=(RICH,))
        case _:
            path.write_text("{")
    found = look_at_lock(path, None, 0)
    assert isinstance(found.content, ConfigError)
    assert "bascule.lock cannot be used" in found.content.message
    assert str(tmp_path) not in found.content.message + found.content.fix
    assert look_at_lock(path, found, 0).content is found.content
    with pytest.raises(ConfigError):
        change_lock(path, lambda servers: servers)


def test_a_broken_lock_is_not_written_over(tmp_path: Path):
    path = tmp_path / "bascule.lock"
    path.write_text("<<<<<<< HEAD")
    with pytest.raises(ConfigError, match="cannot be used"):
        change_lock(path, lambda _servers: {})
    assert path.read_text() == "<<<<<<< HEAD"


def test_a_change_keeps_the_rest_the_mode_and_a_link(tmp_path: Path):
    real = lock_in(tmp_path, work=(RICH,))
    real.chmod(0o640)
    folder = tmp_path / "project"
    folder.mkdir()
    path = folder / "bascule.lock"
    path.symlink_to(real)
    change_lock(path, lambda servers: {**servers, "more": approved(OTHER)})
    assert read_lock(real.read_bytes(), "") == {"work": approved(RICH), "more": approved(OTHER)}
    assert path.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bascule.lock", "project"]


def test_a_change_that_fails_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = lock_in(tmp_path, work=(RICH,))
    before = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left"):
        change_lock(path, lambda _servers: {})
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["bascule.lock"]


def test_a_folder_that_somebody_holds_for_good_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lock, "LONGEST_WAIT", 0.05)
    with lock._alone(tmp_path), pytest.raises(ConfigError, match="does not let go"):
        change_lock(tmp_path / "bascule.lock", lambda servers: servers)


def add(path: Path, name: str, count: int) -> None:
    for number in range(count):
        change_lock(path, lambda servers, tool=f"{name}{number}": {**servers, tool: approved(RICH)})


@pytest.mark.long
def test_of_many_who_change_it_at_once_nobody_loses_anything(tmp_path: Path, scale: int):
    path, count = tmp_path / "bascule.lock", 10 * scale
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=add, args=(path, name, count)) for name in ("a", "b")]
    done, seen = threading.Event(), list[LockedServers]()

    def read() -> None:
        while not done.is_set():
            found = look_at_lock(path, None, 0).content
            assert not isinstance(found, ConfigError), found
            seen.append(found or {})

    reading = threading.Thread(target=read)
    reading.start()
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    finally:
        done.set()
        reading.join()
        for worker in workers:
            if worker.is_alive():
                worker.kill()
                worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(read_lock(path.read_bytes(), "")) == 2 * count
    assert [*map(len, seen)] == sorted(map(len, seen))
    assert path.read_bytes() == write_lock(read_lock(path.read_bytes(), ""))
