"""A folder with what lies outside of it, on both engines."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.workspace import Workspace
from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.openat import Engine
from support.workspaces import ENGINES, canary


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.__name__)
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.param()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    canary(tmp_path / "outside")
    return tmp_path / "outside"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Where the files of the fixture `workspace`, or below the fixture `root`, lie."""
    folder = tmp_path / "home" / "files"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def root_fd(files: Path) -> Iterator[int]:
    fd = os.open(files, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


@pytest.fixture
def root(files: Path, engine: Engine) -> Iterator[ConfinedRoot]:
    root = ConfinedRoot(os.open(files, os.O_RDONLY | os.O_DIRECTORY), engine)
    yield root
    root.close()


@pytest.fixture
def workspace(files: Path) -> Iterator[Workspace]:
    with Workspace(files.parent) as workspace:
        yield workspace
