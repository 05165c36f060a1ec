"""Benchmark of the workspace: the cost of confinement and rollback against plain files, and in a workspace of a hundred
thousand files."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bascule.core.undo.transaction import CURRENT, Transaction
from bascule.workspace import Workspace
from bench.result import Goal, Report, Row

COUNT, ROUNDS = 1_000, 25
MANY, FOLDERS, WRITTEN, CALLS = 100_000, 100, 10, 40
SETTLED = 1.2
"""Seconds until a file counts as one that was there before, and is opened without a second look."""


async def run(report: Report) -> None:
    folder = Path(tempfile.mkdtemp(prefix="bascule-bench-"))
    try:
        with Workspace(folder / "home", quota=2**40) as workspace:
            report.add("opening a file of a workspace", _opening(workspace))
            _fill(Path(workspace.host_path("/workspace")))
        with Workspace(folder / "home", quota=2**40) as workspace:
            report.add(f"a call that writes {WRITTEN} files in a workspace of {MANY:,}", _calls(workspace))
    finally:
        shutil.rmtree(folder)


def _opening(workspace: Workspace) -> list[Row]:
    path = "/workspace/some/folder/file.txt"
    workspace.write_text(path, "content")
    host = workspace.host_path(path)
    time.sleep(SETTLED)

    def plain() -> None:
        with open(host, encoding="utf-8"):  # noqa: PTH123 -- the builtin itself
            pass

    def ours() -> None:
        with workspace.open(path):
            pass

    old = [(_each(plain), _each(ours)) for _ in range(ROUNDS)]
    os.utime(host)
    new = [(_each(plain), _each(ours)) for _ in range(ROUNDS)]
    return [
        Row("plain open", median(one for one, _ in old), "µs"),
        Row("through the workspace", median(other for _, other in old), "µs"),
        Row("what the workspace adds", median(other - one for one, other in old), "µs", Goal("at most", 10)),
        Row("what it adds where the file changed in the last second", median(other - one for one, other in new), "µs"),
    ]


def _each(act: Callable[[], None]) -> float:
    """Microseconds."""
    started = time.perf_counter()
    for _ in range(COUNT):
        act()
    return (time.perf_counter() - started) / COUNT * 1e6


def _fill(files: Path) -> None:
    for folder in range(FOLDERS):
        (files / f"{folder}").mkdir()
        for number in range(MANY // FOLDERS):
            (files / f"{folder}" / f"{number}").touch()


def _calls(workspace: Workspace) -> list[Row]:
    started = time.perf_counter()
    _write(workspace)
    first = time.perf_counter() - started
    plain = [_timed(lambda: _write(workspace)) for _ in range(CALLS)]
    kept = [_timed(lambda: _call(workspace).commit()) for _ in range(CALLS)]
    undone = [_timed(_call(workspace).rollback) for _ in range(CALLS)]
    return [
        Row("the first write, which counts everything", first * 1e3, "ms"),
        Row("written outside of a call", median(plain), "ms"),
        Row("written in a call that is kept, all of it", median(kept), "ms", Goal("at most", 5)),
        Row("undoing the call", median(undone), "ms", Goal("at most", 5)),
    ]


def _call(workspace: Workspace) -> Transaction:
    transaction = Transaction()
    token = CURRENT.set(transaction)
    _write(workspace)
    CURRENT.reset(token)
    return transaction


def _write(workspace: Workspace) -> None:
    for number in range(WRITTEN):
        workspace.write_text(f"{number}/{number}", "content")


def _timed(act: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1e3
