"""A process that is killed in the midst of a call, and what the next one finds."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bascule.core.undo.transaction import Transaction
from bascule.sandbox.limits import taken
from bascule.workspace import Workspace
from bascule.workspace.directory import home_name
from bascule.workspace.undo.backups import KEPT_ASIDE
from chaos.workspace_crasher import FAILED, KEPT, OLD
from chaos.workspace_writer import ALICE, AT_ONCE, PARTS, SLOT, part_of
from chaos.workspace_writer import OLD as OLD_OWN
from support.workspaces import in_call

HERE = Path(__file__).parent
LONGEST = 300
"""Seconds for a program of many processes on a busy machine."""

PROGRAM = """
import os, signal, sys
from pathlib import Path
from bascule.core.undo.transaction import CURRENT, Transaction
from bascule.sandbox.limits import taken
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


def test_a_restore_that_a_kill_interrupts_is_finished_by_the_next_process(tmp_path: Path):
    subprocess.run([sys.executable, str(HERE / "workspace_crasher.py"), str(tmp_path)], check=True, timeout=LONGEST)
    left, restored = FAILED, KEPT + OLD[len(KEPT) :]
    found: list[bytes] = []
    for home in sorted(tmp_path.iterdir()):
        for _ in range(2):
            with Workspace(home) as workspace:
                found.append(workspace.read_bytes("f"))
        assert found[-1] == found[-2]
        assert not list((home / "attic").glob("*/restore-*"))
    assert set(found) == {left, restored}
    # From the first line of the restore on, every kill ends in the original.
    assert found == sorted(found, key=lambda content: content == restored)


@pytest.mark.long
@pytest.mark.requirement("EXE-5")
def test_kills_under_load_lose_no_write_of_a_kept_call(tmp_path: Path, scale: int, seed: int):
    """The ledger is the output of the programs: it is complete up to the kill, and independent of the disk."""
    chance = random.Random(seed)
    environment = {**os.environ, "BASCULE_HOME": str(tmp_path)}
    home = tmp_path / "workspaces" / home_name(ALICE)
    reported: dict[int, str] = {}
    first = 1
    for _ in range(60 if scale > 1 else 10):
        command = [sys.executable, str(HERE / "workspace_writer.py"), str(first)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(chance.randrange(2, 60)):
                note(writer.stdout.readline(), reported)
            writer.kill()
            for line in writer.stdout:
                note(line, reported)
        assert writer.returncode == -signal.SIGKILL
        first = max(first, *reported) + 2 * AT_ONCE
        assert (disagreements(home, reported), seed) == ([], seed)
    assert set(reported.values()) == {"kept", "failed"}


def note(line: str, reported: dict[int, str]) -> None:
    number, _, outcome = line.strip().partition(" ")
    if outcome:
        reported[int(number)] = outcome


def disagreements(home: Path, reported: dict[int, str]) -> list[str]:
    """Kept calls of which a write is missing, and failed calls of which one is left in their own file."""
    with Workspace(home) as workspace:
        log, table = workspace.read_bytes("log"), workspace.read_bytes("table")
        own = {number: workspace.read_bytes(f"own/{number}") for number in reported}
    wrong: list[str] = []
    for number, outcome in reported.items():
        parts = [part_of(number, part) for part in range(PARTS)]
        whole = b"".join(parts)
        if outcome == "failed":
            wrong += [f"{number} failed, and is in its own file"] * (own[number] != OLD_OWN)
            continue
        wrong += [f"{number} is not in the log" for part in parts if log.count(part) != 1]
        wrong += [f"{number} is not in the table"] * (not table[number * SLOT :].startswith(whole))
        wrong += [f"{number} is not in its own file"] * (own[number] != whole)
    return wrong


SANDBOXED = """
import os, signal, sys
from pathlib import Path
from bascule.sandbox.limits import taken
from bascule.workspace import Workspace
from bascule.workspace.undo.journal import History

workspace = Workspace(Path(sys.argv[1]), bare=True)
# It dies with a file that is written, and not moved in yet.
History.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
workspace.write_bytes("half", b"x" * 100_000)
"""


@pytest.mark.requirement("WSP-4")
@pytest.mark.parametrize("opened", ["before the kill", "after the kill"])
@pytest.mark.parametrize("bare", [False, True], ids=["the runtime", "the next process in a sandbox"])
def test_what_a_killed_process_in_a_sandbox_leaves_does_not_count_for_ever(tmp_path: Path, opened: str, bare: bool):
    home = tmp_path / "home"
    files = home / "files"
    files.mkdir(parents=True)
    counting = (lambda: Workspace(files, quota=200_000, bare=True)) if bare else lambda: Workspace(home, quota=200_000)
    workspace = counting() if opened == "before the kill" else None
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", SANDBOXED, str(files)], check=False, timeout=LONGEST)
        assert ended.returncode == -signal.SIGKILL
    assert sum(path.stat().st_size for path in files.glob(".bascule/*/*")) >= 100_000
    for folder in files.glob(".bascule/*"):
        os.utime(folder, (1, 1))
    with workspace or counting() as workspace:
        workspace.write_bytes("a", b"x" * 150_000)
        assert taken(str(files)) < 200_000
