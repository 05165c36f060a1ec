"""A program that dies at every line of one change of a level: `level_crasher.py SCENARIO TEMPLATE FOLDER STRIDE`.

For each line of the store that is run, a copy of the template is made in the folder, and a process of its own makes the
change there until that line. The last one gets to the end. Each that got its answer says so in a file beside its copy.
"""

import asyncio
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import FrameType
from typing import Any

from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels import journal
from bascule.store.levels.interface import LevelStore
from bascule.store.sqlite.store import SqliteStore

ALICE = Principal("alice", "s-1")
ROOM = f"{os.sep}bascule{os.sep}store{os.sep}"
CAUSE = Cause("dataset", "notes", "read", dataset="notes")

CHANGES: dict[str, Callable[[LevelStore], Coroutine[Any, Any, Any]]] = {
    "begin": lambda levels: levels.begin(ALICE, 2.0),
    "raise": lambda levels: levels.raise_level(ALICE, DataSensitivity.CONFIDENTIAL, CAUSE, 2.0),
    "raise in a journal that is tidied": lambda levels: levels.raise_level(
        ALICE, DataSensitivity.CONFIDENTIAL, CAUSE, 2.0
    ),
    "lower": lambda levels: levels.lower_level(ALICE, DataSensitivity.PUBLIC, Cause("operator"), 2.0),
    "end": lambda levels: levels.end_session(ALICE, Cause("operator"), 2.0),
}


class Reaper:
    """Counts the lines of the store that are run, in every thread, and kills this process at one of them."""

    def __init__(self, last: int) -> None:
        self._last = last
        self.lines = 0

    def watch(self, frame: FrameType, event: str, _: Any) -> Any:
        if ROOM not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.watch


async def change(scenario: str, folder: Path, reaper: Reaper) -> None:
    store = SqliteStore(folder / "bascule.db")
    threading.settrace(reaper.watch)
    sys.settrace(reaper.watch)
    await CHANGES[scenario](store.levels)
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    folder.with_suffix(".returned").touch()
    os._exit(0)


def main(scenario: str, template: Path, place: Path, stride: int) -> None:
    if scenario.endswith("tidied"):
        journal.MANY = 3
    line = 1
    while True:
        folder = place / str(line)
        shutil.copytree(template, folder)
        child = os.fork()
        if child == 0:
            asyncio.run(change(scenario, folder, Reaper(line)))
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            sys.exit(os.WEXITSTATUS(status))
        line += stride


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
