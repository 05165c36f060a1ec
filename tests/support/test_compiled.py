import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

from support import compiled as subject
from support.children import beneath

TEST = "def test_it():\n    number = 3\n    assert number == 4\n"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    made = [tmp_path / f"test_{name}.py" for name in "abc"]
    for path in made:
        path.write_text(TEST)
    return made


def kept(file: Path) -> Path:
    return file.parent / "__pycache__" / (file.stem + rewrite.PYC_TAIL)


def test_pytest_takes_what_was_compiled(
    files: list[Path], pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    subject.compile_missing(pytestconfig, files)

    written = [kept(file).stat().st_mtime_ns for file in files]
    assert all(rewrite._read_pyc(file, kept(file)) for file in files)
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(files[0].parent)]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    output = subprocess.run(argv, env=alone, stdout=subprocess.PIPE, text=True, timeout=60, check=False).stdout
    assert "assert 3 == 4" in output
    assert [kept(file).stat().st_mtime_ns for file in files] == written


def test_what_is_there_is_left_as_it_is(files: list[Path], pytestconfig: pytest.Config):
    kept(files[1]).parent.mkdir()
    kept(files[1]).write_bytes(b"of an older one")

    subject.compile_missing(pytestconfig, files)

    assert kept(files[1]).read_bytes() == b"of an older one"


def test_where_nothing_is_to_be_written_nothing_is(
    files: list[Path], pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    subject.compile_missing(pytestconfig, files)

    assert not kept(files[0]).parent.exists()


def test_it_ends_with_the_file_it_is_at(
    files: list[Path], pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    slow = files[0].with_name("test_slow.py")
    os.mkfifo(slow)
    before = beneath()

    with subject.beside(pytestconfig, [*files, slow]), slow.open("w") as source:
        # It is at the last one now, and reads as long as this is open.
        (pid,) = beneath() - before
        os.kill(pid, signal.SIGTERM)
        source.write(TEST)

    assert kept(slow).exists()
    assert not any(kept(file).exists() for file in files)
