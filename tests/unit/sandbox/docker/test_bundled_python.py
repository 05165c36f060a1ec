"""The Python that boxes of foreign images are given."""

import subprocess
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.docker import bundled_python as module
from bascule.sandbox.docker.bundled_python import carried

INSIDE = Path(module.__file__).parents[1] / "inside"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.mark.long
def test_it_runs_from_wherever_it_lies_and_has_what_our_programs_import(state: Path, tmp_path: Path):
    made = carried(state, INSIDE)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.symlink_to(made.folder)
    code = "import sys, json, socket, selectors, resource; print(sys.prefix)"
    ran = subprocess.run(
        [*made.argv(str(elsewhere)), "-I", "-S", "-c", code], env={}, capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == str(elsewhere)


def test_it_takes_nothing_from_the_machine_it_was_made_of(state: Path):
    made = carried(state, INSIDE)
    code = "import json, socket, sys; print(*{m.__file__ for m in sys.modules.values() if getattr(m, '__file__', 0)})"
    code += "; print(*[line.split()[-1] for line in open('/proc/self/maps') if '/' in line])"
    ran = subprocess.run(
        [*made.argv(str(made.folder)), "-I", "-S", "-c", code], env={}, capture_output=True, text=True, check=True
    )

    # What is only data, such as tables of languages, need not be there.
    files = {path for path in ran.stdout.split() if path.startswith("/") and (".so" in path or ".py" in path)}
    assert files
    assert all(path.startswith(str(made.folder)) for path in files), files


def test_it_is_made_once(state: Path):
    made = carried(state, INSIDE)
    before = {path: path.stat().st_mtime_ns for path in made.folder.rglob("*")}

    assert carried(state, INSIDE) == made
    assert {path: path.stat().st_mtime_ns for path in made.folder.rglob("*")} == before
    assert [path.name for path in made.folder.parent.iterdir()] == [made.folder.name]


def test_whoever_a_server_is_can_read_it(state: Path):
    made = carried(state, INSIDE)
    assert all(path.stat().st_mode & 0o004 for path in made.folder.rglob("*"))


def test_where_it_cannot_be_made_it_is_told_what_else_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module.shutil, "which", lambda *_args, **_more: None)
    with pytest.raises(SandboxError) as caught:
        carried(tmp_path, INSIDE)
    assert "ldd" in caught.value.evidence
    assert "sandbox.image" in caught.value.fix
