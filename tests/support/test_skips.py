import os
import subprocess
from pathlib import Path
from typing import Protocol

import pytest

from support import warm

TESTS = Path(__file__).parents[1]
CONFTEST = TESTS / "conftest.py"

ONE_SKIP = "import pytest\ndef test_a(): pytest.skip('no moon tonight')\ndef test_b(): pass\n"
NO_SKIP = "def test_a(): pass\n"
AN_ABSENT_MODULE = "import pytest\npytest.importorskip('no_such_module')\n"


class Run(Protocol):
    def __call__(self, source: str, **environ: str) -> tuple[int, str]: ...


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs pytest on one file, and one that passes, under our conftest."""

    def run_on(source: str, **environ: str) -> tuple[int, str]:
        (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
        (tmp_path / "test_one.py").write_text(source)
        (tmp_path / "test_two.py").write_text(NO_SKIP)  # a run without any test fails by itself
        (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\n")
        ended = subprocess.run(
            [warm.python(), "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path)],
            env={name: value for name, value in os.environ.items() if name != "CI"}
            | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
            | environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return ended.returncode, ended.stdout

    return run_on


@pytest.mark.long
def test_in_ci_a_skipped_test_fails_the_run(run: Run):
    code, output = run(ONE_SKIP, CI="true")

    assert code == pytest.ExitCode.TESTS_FAILED
    assert "Skipped, 1 x: no moon tonight\nIn CI nothing may be skipped: this run has failed.\n" in output


@pytest.mark.long
def test_in_ci_a_skipped_module_fails_the_run(run: Run):
    code, output = run(AN_ABSENT_MODULE, CI="true")

    assert code == pytest.ExitCode.TESTS_FAILED
    assert "no_such_module" in output


@pytest.mark.long
def test_in_ci_a_run_without_skips_passes(run: Run):
    assert run(NO_SKIP, CI="true")[0] == 0


@pytest.mark.long
def test_elsewhere_a_skip_is_told_and_passes_and_the_report_is_also_written_where_asked(run: Run, tmp_path: Path):
    code, output = run(ONE_SKIP, BASCULE_SKIP_REPORT=str(tmp_path / "report"))

    assert code == 0
    assert "Skipped, 1 x: no moon tonight\n" in output
    assert (tmp_path / "report").read_text() == "Skipped, 1 x: no moon tonight\n"
