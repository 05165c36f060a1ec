from typing import Any, cast

import pytest

from bascule.core.errors import UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors.source import FileSource, path_of, tell
from support.private_data import Book


def test_a_private_source_is_told_and_a_public_one_is_not(book: Book):
    assert path_of(FileSource("news", "a.txt", DataSensitivity.PUBLIC)) == "a.txt"
    assert book.names == []
    assert path_of(FileSource("payroll", "b.txt", DataSensitivity.SECRET)) == "b.txt"
    assert (book.names, book.level) == (["payroll"], DataSensitivity.SECRET)
    assert path_of("c.txt") == "c.txt"


def test_who_cannot_write_it_down_stops_the_reading(book: Book):
    book.fails = True
    with pytest.raises(OSError, match="store is gone"):
        tell(FileSource("payroll", "b.txt", DataSensitivity.INTERNAL))


def test_outside_of_a_request_a_private_source_cannot_be_read():
    with pytest.raises(UsageError, match="whose agent session"):
        tell(FileSource("payroll", "b.txt", DataSensitivity.INTERNAL))


def test_a_source_without_a_name_or_a_level_cannot_be_made():
    with pytest.raises(UsageError, match="name of a dataset"):
        FileSource("", "b.txt", DataSensitivity.SECRET)
    with pytest.raises(TypeError, match="DataSensitivity"):
        FileSource("a", "b.txt", cast("Any", 2))
