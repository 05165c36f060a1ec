"""Regular files: read without blocking, and nothing else in their place."""

import os
import stat
from pathlib import Path

import pytest

from bascule.files.regular_file import (
    NotRegular,
    check_database,
    fix_of,
    open_regular,
    read_regular,
    regular_descriptor,
)
from support.irregular import KINDS, put


@pytest.mark.parametrize("kind", KINDS)
def test_anything_else_is_an_error_that_names_it(tmp_path: Path, kind: str):
    put(kind, tmp_path / "x")

    with pytest.raises(NotRegular) as caught:
        read_regular(tmp_path / "x", 8)

    assert caught.value.strerror == f"it is {kind}, not a regular file"
    assert caught.value.filename == str(tmp_path / "x")
    assert fix_of(tmp_path / "x", caught.value, "nothing") == f"put a regular file in place of {tmp_path / 'x'}"


@pytest.mark.parametrize("flags", [os.O_WRONLY | os.O_APPEND | os.O_CREAT, os.O_RDWR | os.O_CREAT])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_not_opened_for_writing_either(tmp_path: Path, kind: str, flags: int):
    put(kind, tmp_path / "x")

    with pytest.raises(NotRegular, match=kind):
        regular_descriptor(tmp_path / "x", flags)


@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_database_has_none_of_them_beside_it(tmp_path: Path, kind: str, ending: str):
    check_database(tmp_path / "bascule.db")
    put(kind, tmp_path / f"bascule.db{ending}")

    with pytest.raises(NotRegular, match=kind):
        check_database(tmp_path / "bascule.db")


def test_a_link_to_a_file_is_followed_unless_it_must_not_be(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")

    assert read_regular(tmp_path / "link") == b"text"
    with pytest.raises(OSError, match="symbolic"):
        open_regular(tmp_path / "link", os.O_NOFOLLOW)


def test_no_more_is_read_than_is_asked_for(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"text")

    assert read_regular(tmp_path / "file", 2) == b"te"


def test_a_missing_file_stays_missing(tmp_path: Path):
    with pytest.raises(FileNotFoundError) as caught:
        read_regular(tmp_path / "file")

    assert fix_of(tmp_path / "file", caught.value, "make it") == "make it"


def test_a_file_that_is_made_is_the_owners_alone_and_is_not_inherited(tmp_path: Path):
    descriptor = regular_descriptor(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    try:
        assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o600
        assert not os.get_inheritable(descriptor)
    finally:
        os.close(descriptor)
