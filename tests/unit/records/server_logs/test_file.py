"""Log file of one server, and its lines."""

import fcntl
import multiprocessing
import os
import stat
import time
from pathlib import Path

import pytest

from bascule.records.server_logs import file as log_file
from bascule.records.server_logs.file import (
    MAX_FILE,
    LogLine,
    append,
    log_folder,
    log_path,
    make_private,
    older,
    read_line,
    write_line,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = log_folder(tmp_path / "state", tmp_path / "bascule.yaml")
    make_private(folder)
    return log_path(folder, "work")


def test_one_config_has_one_folder_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.yaml").symlink_to(tmp_path / "bascule.yaml")
    names = (
        tmp_path / "bascule.yaml",
        Path("bascule.yaml"),
        tmp_path / "sub" / ".." / "bascule.yaml",
        Path("link.yaml"),
    )

    assert len({log_folder(tmp_path, name) for name in names}) == 1
    assert log_folder(tmp_path, Path("other.yaml")) != log_folder(tmp_path, names[0])


def test_nobody_else_can_read_a_log(path: Path):
    append(path, b"line\n")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)} == {0o700}


def test_a_folder_that_others_can_read_is_closed_to_them(path: Path):
    path.parent.chmod(0o755)
    make_private(path.parent)

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_of_another_user_is_not_used(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(PermissionError, match="another user"):
        make_private(path.parent)


def test_a_log_that_is_a_link_to_elsewhere_is_not_written(path: Path, tmp_path: Path):
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        append(path, b"line\n")

    assert not (tmp_path / "elsewhere").exists()


def test_a_log_never_takes_more_than_two_files(path: Path):
    line = b"x" * 99_999 + b"\n"
    for number in range(50):
        append(path, b"%d" % number + line)

    assert {file.name for file in path.parent.iterdir()} == {"work.log", "work.log.1"}
    assert path.stat().st_size <= MAX_FILE
    assert older(path).stat().st_size <= MAX_FILE
    kept = [int(line.split(b"x")[0]) for file in (older(path), path) for line in file.read_bytes().splitlines()]
    assert kept == [*range(kept[0], 50)]
    assert len(kept) >= 10


def test_what_is_too_long_for_a_whole_file_is_still_written(path: Path):
    append(path, b"y" * (MAX_FILE + 1))

    assert path.stat().st_size == MAX_FILE + 1


def test_one_who_holds_the_file_and_hangs_is_not_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_file, "PAUSE", 0.001)
    append(path, b"one\n")
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        append(path, b"two\n")

    assert path.read_bytes() == b"one\ntwo\n"


def test_only_one_at_a_time_writes(path: Path, monkeypatch: pytest.MonkeyPatch):
    append(path, b"one\n")
    seen: list[bytes] = []
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        def wait(_: float) -> None:
            seen.append(path.read_bytes())
            fcntl.flock(held, fcntl.LOCK_UN)

        monkeypatch.setattr(time, "sleep", wait)
        append(path, b"two\n")

    assert seen == [b"one\n"]
    assert path.read_bytes() == b"one\ntwo\n"


def write_many(path: str, mark: bytes) -> None:
    for number in range(200):
        append(Path(path), b"%s %d %s\n" % (mark, number, b"x" * 2000))


@pytest.mark.parametrize("room", [8 * 1024 * 1024, 400 * 1024], ids=["one file", "two files"])
def test_processes_that_write_at_once_lose_and_mix_nothing(path: Path, monkeypatch: pytest.MonkeyPatch, room: int):
    monkeypatch.setattr(log_file, "MAX_FILE", room)
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_many, args=(str(path), mark)) for mark in (b"a", b"b", b"c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
        assert writer.exitcode == 0

    files = [file for file in (older(path), path) if file.exists()]
    lines = [line.split() for file in files for line in file.read_bytes().splitlines()]
    assert all(len(line[2]) == 2000 for line in lines)
    for mark in (b"a", b"b", b"c"):
        numbers = [int(line[1]) for line in lines if line[0] == mark]
        assert numbers == [*range(200 - len(numbers), 200)]
    # What is moved away is moved away full.
    assert len(files) == 1 or older(path).stat().st_size > room - 3000


@pytest.mark.parametrize(
    "line",
    [
        LogLine(1.5, "stderr", "ada", "s-1", "it says\n\x1b[31mno\r\u2028 ü", 4711),
        LogLine(1.5, "link", "ada", "s-1", "", state="ready"),
        LogLine(1.5, "note", "", "", "… 7 lines left out"),
    ],
)
def test_a_line_is_one_line_and_reads_as_it_was_written(line: LogLine):
    data = write_line(line)

    assert data.splitlines() == [data[:-1]]
    assert read_line(data) == line


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"at": 1}', b"\xff"])
def test_what_cannot_be_read_is_nothing(data: bytes):
    assert read_line(data) is None
