"""A workspace of a request, and somebody who writes down what was seen in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.sensitivity import private_data
from bascule.workspace import Workspace, host_paths
from support.private_data import Book


@pytest.fixture
def book() -> Iterator[Book]:
    book = Book()
    token = private_data.CURRENT.set(book)
    yield book
    private_data.CURRENT.reset(token)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path / "home") as workspace:
        token = host_paths.CURRENT.set(lambda: workspace)
        yield workspace
        host_paths.CURRENT.reset(token)
