"""What a box has to know of this machine."""

import os
from pathlib import Path

import pytest

from bascule.sandbox.mounts.host import this_machine


def test_our_own_python_is_named_by_its_real_path() -> None:
    python = this_machine(os.environ).python
    assert python == os.path.realpath(python)
    assert os.access(python, os.X_OK)


def test_the_state_folder_is_named_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "state").symlink_to("real")
    machine = this_machine({"HOME": "/home/me", "BASCULE_HOME": str(tmp_path / "state")})
    assert machine.state == os.path.realpath(tmp_path / "real")
    assert machine.home == "/home/me"


def test_the_first_program_is_where_it_is_said_to_be() -> None:
    assert (Path(this_machine(os.environ).inside) / "entry.py").is_file()


def test_a_folder_that_was_removed_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert this_machine(os.environ).here == "/"
