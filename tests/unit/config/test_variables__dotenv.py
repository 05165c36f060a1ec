"""The `.env` file beside a configuration."""

from pathlib import Path

import pytest

from bascule.config.variables import MAX_DOTENV, read_dotenv


def read(tmp_path: Path, data: str | bytes) -> tuple[dict[str, str], tuple[str, ...]]:
    path = tmp_path / ".env"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_dotenv(path)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=1", "1"),
        ("export A=1", "1"),
        ("A = 1 ", "1"),
        ("A=", ""),
        ("A=1 # a comment", "1"),
        ("A=# a comment", ""),
        ("A=a#b", "a#b"),
        ('A="a # b"  # c', "a # b"),
        ('A="a\\nb\\"c"', 'a\nb"c'),
        ("A='a\\nb'", "a\\nb"),
        ("A=a=b", "a=b"),
        ("A=${B}", "${B}"),
        ('A="unfinished', '"unfinished'),
    ],
)
def test_a_line_is_read(tmp_path: Path, line: str, value: str):
    assert read(tmp_path, line) == ({"A": value}, ())


def test_comments_and_blank_lines_are_passed_over(tmp_path: Path):
    assert read(tmp_path, "\ufeff# x\n\n  \nA=1\r\nB=2\n") == ({"A": "1", "B": "2"}, ())


def test_a_line_that_is_no_variable_is_noted_but_not_repeated(tmp_path: Path):
    values, notes = read(tmp_path, "A=1\nhunter2\n")

    assert values == {"A": "1"}
    assert len(notes) == 1
    assert ".env:2" in notes[0]
    assert "hunter2" not in notes[0]


def test_no_file_is_no_variables(tmp_path: Path):
    assert read_dotenv(tmp_path / ".env") == ({}, ())


@pytest.mark.parametrize("data", [b"A=\xff", b"A=" + b"x" * MAX_DOTENV])
def test_a_file_that_cannot_be_read_gives_nothing_but_a_note(tmp_path: Path, data: bytes):
    values, notes = read(tmp_path, data)

    assert values == {}
    assert len(notes) == 1


def test_a_folder_of_that_name_is_noted(tmp_path: Path):
    (tmp_path / ".env").mkdir()

    assert len(read_dotenv(tmp_path / ".env")[1]) == 1
