"""weakincentives needs a newer Python than the rest of the tests. Its own tests run on one, from here; and what imports it
is checked there as strictly as everything else is here."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from support.newer_python import with_weakincentives
from support.peers import BUILD, ROOT

pytestmark = pytest.mark.long

FOLDERS = ("tests/unit/bridges/weakincentives", "tests/behaviour/weakincentives")

IMPORTED = "import bascule.bridges.weakincentives"


def environ() -> dict[str, str]:
    """Without what the run of these tests has set for itself."""
    ours = ("COVERAGE_", "COV_", "PYTEST_", "PYTHONPATH", "BASCULE_SKIP_REPORT", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def told_by(*command: str | Path, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env=environ() | extra, capture_output=True, text=True, check=False, timeout=500
    )


def count_written() -> int:
    """How many test functions there are."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).glob("test_*.py")]
    return sum(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        for path in files
        for node in ast.parse(path.read_bytes()).body
    )


def test_its_tests_pass_on_a_python_that_has_it():
    python = with_weakincentives() / "python"
    # What is counted here is combined with what the other tests have covered.
    counted = told_by(python, "-m", "coverage", "run", "-m", "pytest", "-rA", *FOLDERS)

    told = f"{counted.stdout}\n{counted.stderr}"
    assert counted.returncode == 0, told
    assert "Skipped: nothing." in counted.stdout, told
    ran = {re.sub(r"\[.*", "", line) for line in counted.stdout.splitlines() if line.startswith("PASSED ")}
    assert len(ran) == count_written() > 80, told


def test_its_types_are_checked_on_a_python_that_has_it():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
    checked = [str(ROOT / path) for path in settings["exclude"] if "*" not in path]
    left_out = {"exclude", "venv", "venvPath"}
    config = {name: value for name, value in settings.items() if name not in left_out}
    config |= {"include": checked, "pythonVersion": "3.12"}
    config["executionEnvironments"] = [_absolute(place) for place in settings["executionEnvironments"]]
    place = BUILD / "weakincentives.pyright.json"
    place.write_text(json.dumps(config))
    checker = Path(sys.executable).with_name("basedpyright")
    found = told_by(checker, "--project", place, "--pythonpath", with_weakincentives() / "python")

    assert found.returncode == 0, found.stdout
    assert "0 errors, 0 warnings" in found.stdout
    assert all(Path(path).exists() for path in checked)


def _absolute(place: dict[str, Any]) -> dict[str, Any]:
    return {
        name: str(ROOT / value)
        if name == "root"
        else [str(ROOT / path) for path in value]
        if name == "extraPaths"
        else value
        for name, value in place.items()
    }


@pytest.mark.parametrize("hidden", [IMPORTED, f"import sys; sys.modules['weakincentives'] = None; {IMPORTED}"])
def test_without_it_one_line_tells_how_to_install_it(hidden: str):
    newer = "sys.modules" in hidden
    python = with_weakincentives() / "python" if newer else Path(sys.executable)
    missing = told_by(python, "-c", hidden, PYTHONPATH=str(ROOT / "src"))

    line = missing.stderr.strip().splitlines()[-1]
    needs = "" if newer else " (with Python 3.12 or newer, which it needs)"
    assert line == f"ModuleNotFoundError: weakincentives is not installed: pip install 'bascule[weakincentives]'{needs}"


def test_importing_bascule_does_not_import_it():
    python = with_weakincentives() / "python"

    assert told_by(python, "-c", "import sys, bascule; print('weakincentives' in sys.modules)").stdout == "False\n"
