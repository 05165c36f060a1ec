import os
import subprocess
from pathlib import Path

import pytest

from support import warm

CONFTEST = """
from support import sample

def pytest_addoption(parser):
    sample.add_option(parser)

def pytest_configure(config):
    config.addinivalue_line("markers", sample.LONG)
    if config.option.sample:
        config.pluginmanager.register(sample.Sample())
"""

TESTS = """
import pytest, unittest
from hypothesis import given, settings, strategies

@pytest.mark.parametrize("number", range(5))
def test_of_five(number): ...

def test_alone(): ...

@settings(database=None)
@given(strategies.integers())
def test_drawn(number):
    with open(__file__ + ".drawn", "a") as drawn:
        print(number, file=drawn)

@pytest.mark.long
@pytest.mark.parametrize("number", range(3))
def test_long(number): ...

class Both:
    @pytest.mark.parametrize("number", range(2))
    def test_of_both(self, number): ...

class TestOne(Both): ...
class TestOther(Both): ...

class TestOldWay(unittest.TestCase):
    def test_one(self): ...
    def test_other(self): ...
"""

FIRST = [
    *("test_of_five[0]", "test_alone", "test_drawn", "TestOne::test_of_both[0]", "TestOther::test_of_both[0]"),
    *("TestOldWay::test_one", "TestOldWay::test_other"),
]


def ran(folder: Path, *options: str) -> str:
    for name in ("one", "two"):
        (folder / f"test_{name}.py").write_text(TESTS)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {Path(__file__).parents[1]}\n")
    argv = [warm.python(), "-m", "pytest", "-v", "-p", "no:cacheprovider", "--strict-markers", *options, str(folder)]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(argv, env=alone, stdout=subprocess.PIPE, text=True, timeout=60, check=False).stdout


def passed(output: str) -> list[str]:
    return [line.split(" PASSED")[0].split("::", 1)[1] for line in output.splitlines() if " PASSED" in line]


def drawn(folder: Path) -> list[int]:
    """How often each file's test was given a value."""
    return [len(path.read_text().splitlines()) for path in folder.glob("*.drawn")]


@pytest.mark.long
def test_the_first_case_of_each_test_is_run_and_the_rest_is_told(tmp_path: Path):
    output = ran(tmp_path, "--sample")

    assert passed(output) == 2 * FIRST
    assert "the first case of each test. 12 more, and 6 of tests that are long, are run" in output
    assert "14 passed, 18 deselected" in output
    assert drawn(tmp_path) == [20, 20]


@pytest.mark.long
def test_else_all_are(tmp_path: Path):
    output = ran(tmp_path)

    assert len(passed(output)) == 2 * (5 + 1 + 1 + 3 + 4 + 2)
    assert drawn(tmp_path) == [100, 100]
    assert "sample" not in output
