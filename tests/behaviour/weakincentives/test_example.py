"""The example on the page of weakincentives: it is the file under `examples/`, and prints what the page shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "weakincentives"
PAGE = (ROOT / "docs" / "bridge-weakincentives.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first block of the page in this language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_shows_the_example_as_it_is():
    assert block("python") == (EXAMPLE / "agent.py").read_text(encoding="utf-8")
    assert block("yaml") == (EXAMPLE / "bascule.yaml").read_text(encoding="utf-8")


@pytest.mark.requirement("BRG-1", "BRG-3")
def test_the_example_prints_what_the_page_shows(tmp_path: Path):
    folder = shutil.copytree(EXAMPLE, tmp_path / "example")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        [sys.executable, "agent.py"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert ran.returncode == 0, ran.stderr
    assert block("console") == f"$ python agent.py\n{ran.stdout}"
