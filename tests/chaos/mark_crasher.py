"""A program that dies at every line of one change of a level in a workspace with files:
`mark_crasher.py SCENARIO TEMPLATE FOLDER STRIDE`.

For each line of the store and of the level marks that is run, a copy of the template is made in the folder, and a process of
its own makes the change there until that line. The last one gets to the end. Each that got its answer says so in a file
beside its copy.
"""

import asyncio
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import FrameType
from typing import Any

from bascule import Runtime
from bascule.config import RuntimeConfig
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.records.audit.log import Audit
from bascule.runtime.levels.operator import Operator
from bascule.store.open import store_at
from bascule.workspace.level_marks import LevelMarks

ALICE = Principal("alice", "s-1")
ROOMS = tuple(f"{os.sep}bascule{os.sep}{room}{os.sep}" for room in ("store", "workspace"))


class Reaper:
    """Counts the lines that are run once it is armed, in every thread, and kills this process at one of them."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._lines = 0
        self.armed = False

    def watch(self, frame: FrameType, event: str, _: Any) -> Any:
        if not any(room in frame.f_code.co_filename for room in ROOMS):
            return None
        if event == "line" and self.armed:
            self._lines += 1
            if self._lines == self._last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.watch


async def raised(folder: Path, reaper: Reaper) -> None:
    async with Runtime(RuntimeConfig({}, workspace_root=str(folder / "workspaces"))) as runtime:
        session = runtime.session(ALICE.user_id, ALICE.session_id)
        await session.begin()
        reaper.armed = True
        await session.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
        done(folder)


async def lowered(folder: Path, reaper: Reaper) -> None:
    store = store_at(None, folder)
    await store.open()
    audit = Audit(time.time)
    await audit.open(folder, store.anchors, every=600, whole=False)
    marks = LevelMarks.at(str(folder / "workspaces"), folder, store.levels)
    await marks.identify()
    operator = Operator(store.levels, "ada", time.time, audit, marks)
    reaper.armed = True
    await operator.declassify(ALICE, DataSensitivity.PUBLIC, "test data")
    done(folder)


def done(folder: Path) -> None:
    folder.with_suffix(".returned").touch()
    os._exit(0)


CHANGES: dict[str, Callable[[Path, Reaper], Coroutine[Any, Any, None]]] = {"raise": raised, "declassify": lowered}


def main(scenario: str, template: Path, place: Path, stride: int) -> None:
    line = 1
    while True:
        folder = place / str(line)
        shutil.copytree(template, folder)
        child = os.fork()
        if child == 0:
            os.environ["BASCULE_HOME"] = str(folder)
            reaper = Reaper(line)
            threading.settrace(reaper.watch)
            sys.settrace(reaper.watch)
            asyncio.run(CHANGES[scenario](folder, reaper))
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            sys.exit(os.WEXITSTATUS(status))
        line += stride


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
