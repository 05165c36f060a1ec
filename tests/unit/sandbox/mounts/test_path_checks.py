"""Looking at files and folders that may not be looked at."""

import os
import subprocess
from pathlib import Path

import pytest

from bascule.sandbox.mounts import path_checks
from bascule.sandbox.mounts.path_checks import is_file, is_folder, is_link, is_there


def test_what_is_there_is_told_by_its_kind(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    assert is_folder(tmp_path)
    assert is_file(tmp_path / "file")
    assert is_link(str(tmp_path / "link"))
    assert is_there(tmp_path / "file")
    assert not is_there(tmp_path / "link")
    assert not is_folder(tmp_path / "file")


def test_what_may_not_be_looked_at_is_not_there(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("somebody else's folder is needed (it needs root)")
    tmp_path.chmod(0o700)
    code = (
        Path(path_checks.__file__).read_text()
        + f"\nfor each in (is_folder, is_file, is_there, is_link): print(each({str(tmp_path)!r} + '/x'))"
    )
    python = Path("/usr/bin/python3")
    if not python.exists():
        pytest.skip("a Python that everybody may run is needed")
    told = subprocess.run(
        [str(python), "-I", "-c", code], capture_output=True, text=True, user=65532, check=False, timeout=20
    )
    assert told.stdout.split() == ["False"] * 4, told.stderr
