"""Program that dies at every line of one rollback: `workspace_crasher.py FOLDER`.

For each line of the undo that runs, a process of its own fails a call in a workspace below FOLDER until that line. Another
call has the same file open, so the original goes back by its content. The last process reaches the end."""

import itertools
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from bascule.core.undo.transaction import CURRENT, Transaction
from bascule.workspace import Workspace
from bascule.workspace.undo import backups

ROOM = f"{os.sep}bascule{os.sep}workspace{os.sep}undo{os.sep}"
CHUNK = 1000
OLD = b"".join(b"%07d\n" % number for number in range(CHUNK))
KEPT = b"<kept>"
FAILED = b"x" * 2 * len(OLD)


class Reaper:
    """Counts the lines of the undo that run, and kills this process at one of them."""

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


def fail_a_call(home: Path, reaper: Reaper) -> None:
    workspace = Workspace(home)
    workspace.write_bytes("f", OLD)
    failing, other = Transaction(), Transaction()
    CURRENT.set(other)
    # Not closed: the call that is kept goes on.
    file = workspace.open("f", "r+b")
    file.write(KEPT)
    file.flush()
    CURRENT.set(failing)
    with workspace.open("f", "r+b") as beside:
        beside.write(FAILED)
    sys.settrace(reaper.watch)
    failing.rollback()
    sys.settrace(None)
    os._exit(0)


def main(folder: Path) -> None:
    # In pieces, so that a process can die between two of them.
    backups._CHUNK = CHUNK
    del os.copy_file_range
    for number in itertools.count(1):
        child = os.fork()
        if not child:
            fail_a_call(folder / f"{number:04}", Reaper(number))
        if not os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
