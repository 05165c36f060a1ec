"""A process that is killed in the midst of a call, and what the next one finds."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bascule.core.undo.transaction import Transaction
from bascule.workspace import Workspace
from bascule.workspace.undo.backups import KEPT_ASIDE
from support.workspaces import in_call

PROGRAM = """
import os, signal, sys
from pathlib import Path
from bascule.core.undo.transaction import CURRENT, Transaction
from bascule.workspace import Workspace

workspace = Workspace(Path(sys.argv[1]))
CURRENT.set(Transaction())
workspace.write_text("a", "changed by " + sys.argv[2])
workspace.delete("b")
workspace.write_text("new", "made")
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(home: Path, name: str) -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM, str(home), name], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL


def test_what_a_killed_process_had_changed_stays_and_its_originals_are_kept_aside(tmp_path: Path):
    home = tmp_path / "home"
    with Workspace(home) as workspace:
        workspace.write_text("a", "original a")
        workspace.write_text("b", "original b")
    killed(home, "the first")
    with Workspace(home) as workspace:
        assert workspace.read_text("a") == "changed by the first"
        assert not workspace.exists("b")
        workspace.write_text("c", "and work goes on")
        (left,) = [path for path in (home / "attic").iterdir() if (path / "index").exists()]
        kept = [json.loads(line) for line in (left / "index").read_text().splitlines()]
        assert {line["path"]: (left / line["slot"]).read_text() for line in kept} == {
            "/workspace/a": "original a",
            "/workspace/b": "original b",
        }


@pytest.mark.long
def test_only_the_last_few_are_kept_aside(tmp_path: Path):
    home = tmp_path / "home"
    for number in range(KEPT_ASIDE + 2):
        with Workspace(home) as workspace:
            workspace.write_text("a", f"{number}")
            workspace.write_text("b", "b")
        killed(home, str(number))
    with Workspace(home) as workspace:
        workspace.write_text("a", "last")
        left = [path for path in (home / "attic").iterdir() if (path / "index").exists()]
        assert len(left) == KEPT_ASIDE
        assert {(path / "0").read_text() for path in left} <= {str(number) for number in range(2, KEPT_ASIDE + 2)} | {
            ""
        }
    assert len(list((home / "attic").iterdir())) == KEPT_ASIDE


def test_a_process_that_lives_keeps_its_originals(tmp_path: Path):
    home = tmp_path / "home"
    with Workspace(home) as mine, Workspace(home) as another:
        mine.write_text("a", "original")
        call = Transaction()
        with in_call(call):
            mine.write_text("a", "changed")
        another.write_text("b", "the first write looks for what was left behind")
        call.rollback()
        assert mine.read_text("a") == "original"
