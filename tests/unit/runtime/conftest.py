"""What most tests of a runtime need: somewhere for a stand-in to write, and something that hears all events."""

from pathlib import Path

import pytest

from support.runtime import Events


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "received"


@pytest.fixture
def events() -> Events:
    return Events()
