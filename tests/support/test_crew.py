import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import crew as subject

CONFTEST = """
import os, pathlib, pytest, sys
from support.crew import pytest_addoption, pytest_runtestloop

LOG = pathlib.Path(__file__).with_name("log")
KEPT = sys.stderr

def told(*words):
    with LOG.open("a") as log:
        print(*words, file=log)

@pytest.fixture(scope="session")
def of_the_hand():
    told("made", os.fstat(KEPT.fileno()).st_ino, os.getpid())
    yield os.getpid()
    told("taken down", os.getpid())

@pytest.fixture(scope="module")
def of_the_file(request):
    told("file", request.node.path.name, os.getpid())
"""

ORDINARY = """
import os, pytest

@pytest.mark.parametrize("number", range({most}))
def test_passes(number, of_the_hand, of_the_file, tmp_path):
    assert of_the_hand == os.getpid()
    assert not [*tmp_path.iterdir()]
    (tmp_path / "mine").touch()

def test_fails():
    print("said before")
    raise ValueError("the reason")

def test_skips():
    pytest.skip("no moon")

def test_breaks(no_such_fixture): ...
"""

LOST = """
import os, pytest

@pytest.mark.parametrize("number", range(5))
def test_of_five(number):
    if number == 2:
        os._exit(7)

def test_killed():
    os.kill(os.getpid(), 9)
"""


def ran(folder: Path, *options: str, **files: str) -> str:
    """What pytest says of these files by two hands."""
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {Path(__file__).parents[1]}\n")
    argv = [sys.executable, "-m", "pytest", "--hands=2", "-p", "no:cacheprovider", "-rA", *options, str(folder)]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(argv, env=alone, stdout=subprocess.PIPE, text=True, timeout=60, check=False).stdout


def counts(output: str) -> dict[str, int]:
    last = output.strip().splitlines()[-1]
    return {what: int(number) for number, what in re.findall(r"(\d+) (passed|failed|skipped|error)", last)}


@pytest.mark.long
def test_all_that_happened_is_told_as_if_one_had_run_it(tmp_path: Path):
    output = ran(tmp_path, one=ORDINARY.format(most=subject.GROUP - 3), two=ORDINARY.format(most=40))
    log = [line.split() for line in (tmp_path / "log").read_text().splitlines()]

    assert counts(output) == {"passed": subject.GROUP - 3 + 40, "failed": 2, "skipped": 2, "error": 2}
    assert output.count("ValueError: the reason") >= 2
    assert "said before" in output
    hands = {line[-1] for line in log}
    assert len(hands) == 2
    made = [line for line in log if line[0] == "made"]
    assert {line[2] for line in made} == hands
    # What they print goes into a file of each one's own, also by a stream that was kept when all was imported.
    assert len({line[1] for line in made}) == 2
    assert {line[2] for line in log if line[0] == "taken"} == hands
    # Of a file whose tests one hand takes at once, and of parts of the other.
    files = [line[1] for line in log if line[0] == "file"]
    assert files.count("test_one.py") == 1
    assert files.count("test_two.py") <= 2


def test_a_lost_hand_is_told_and_another_goes_on(tmp_path: Path):
    output = ran(tmp_path, one=LOST)

    assert counts(output) == {"passed": 4, "failed": 2}
    assert "the process that ran this test was lost: it ended with 7\n" in output
    assert "the process that ran this test was lost: it was ended by SIGKILL\n" in output
    assert re.findall(r"FAILED .*::(\S+)", output) == ["test_of_five[2]", "test_killed"]


@pytest.mark.long
def test_who_wants_no_more_after_a_failure_gets_no_more(tmp_path: Path):
    output = ran(tmp_path, "--maxfail=1", one="def test_a(): assert False\n", two=ORDINARY.format(most=400))

    assert "stopping after 1 failures" in output
    assert counts(output).get("passed", 0) < 400


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ("", []),
        ("a", [(0,)]),
        ("aab", [(0, 1), (2,)]),
        ("aaaaab", [(0, 1, 2), (3, 4), (5,)]),
        ("aba", [(0,), (1,), (2,)]),
    ],
)
def test_neighbours_of_one_file_go_together(files: str, found: list[subject.Group]):
    assert subject.groups(files, most=3) == found
