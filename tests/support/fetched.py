"""Packages that a run of the tests has had fetched, kept for the rest of it: whoever asks for one first fetches it, and
all others start from it, as they do on one machine."""

import os
import sys
from pathlib import Path

import pytest

from bascule.sandbox.prepare.prepare import FOLDER


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with the packages of all tests, in whichever process they run."""
    base = tmp_path_factory.getbasetemp()
    # What several hands run has one folder around those of each.
    return (base.parent if base.name.startswith("hand-") else base) / "state-of-all"


def kept_on(shelf: Path, state: Path) -> Path:
    """The state folder, whose packages are those of the shelf and of which all else is its own."""
    (shelf / FOLDER).mkdir(parents=True, exist_ok=True, mode=0o700)
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    (state / FOLDER).symlink_to(shelf / FOLDER)
    return state


def path_with_uv() -> str:
    """PATH, with the uv of this checkout before any other: pip takes five times as long for the same packages."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
