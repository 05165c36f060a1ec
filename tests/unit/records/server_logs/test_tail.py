"""The end of a log, and what is added to it."""

from pathlib import Path

import pytest

from bascule.records.server_logs.file import LogLine, append, older, write_line
from bascule.records.server_logs.tail import LogTail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work.log"


def add(path: Path, *texts: str) -> None:
    append(path, b"".join(write_line(LogLine(1.0, "stderr", "ada", "s-1", text, 7)) for text in texts))


def texts(lines: list[LogLine]) -> list[str]:
    return [line.text for line in lines]


def test_no_log_is_no_lines(path: Path):
    tail = LogTail(path)

    assert (tail.last(10), tail.new()) == ([], [])


def test_the_last_lines_are_taken_from_both_files(path: Path):
    add(path, "one", "two")
    path.rename(older(path))
    add(path, "three", "four")

    assert texts(LogTail(path).last(3)) == ["two", "three", "four"]
    assert texts(LogTail(path).last(100)) == ["one", "two", "three", "four"]
    assert LogTail(path).last(0) == []


def test_what_is_added_is_told_once(path: Path):
    add(path, "one")
    tail = LogTail(path)
    tail.last(10)
    assert tail.new() == []

    add(path, "two", "three")
    assert texts(tail.new()) == ["two", "three"]
    assert tail.new() == []


def test_a_log_that_begins_later_is_told_from_its_beginning(path: Path):
    tail = LogTail(path)
    tail.last(10)
    add(path, "one")

    assert texts(tail.new()) == ["one"]


def test_nothing_is_missed_or_told_twice_when_the_file_is_moved_away(path: Path):
    add(path, "one")
    tail = LogTail(path)
    tail.last(10)
    add(path, "two")
    path.rename(older(path))
    assert tail.new() == []  # for a moment there is no file

    add(path, "three")
    assert texts(tail.new()) == ["two", "three"]
    add(path, "four")
    assert texts(tail.new()) == ["four"]


def test_a_line_that_is_not_whole_is_waited_for(path: Path):
    whole = write_line(LogLine(1.0, "stderr", "ada", "s-1", "one", 7))
    path.write_bytes(whole[:10])
    tail = LogTail(path)
    assert tail.last(10) == []

    path.write_bytes(whole)
    assert texts(tail.new()) == ["one"]


def test_a_line_that_cannot_be_read_hides_no_other(path: Path):
    add(path, "one")
    append(path, b'{"at": 1\n')
    add(path, "two")

    assert texts(LogTail(path).last(10)) == ["one", "two"]
