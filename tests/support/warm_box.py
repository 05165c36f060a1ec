"""A container in which programs are started without the second that their imports take: `support.warm`, inside.

What is run there is a process of the container like any other, with the environment and the streams that the engine gave
it. Not for tests that look at the processes of their container, or end it: those have one of their own.
"""

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support import warm, warm_start
from support.children import lasting
from support.docker import Container, reached, running_engine

DOOR = "/door"
"""Where the warm process is reached. Nothing outside the container has such a path."""

TOLD = {"LC_CTYPE": "C.UTF-8"}
"""What a Python sets for itself where the environment names no language, as that of the container does."""

MODULES = tuple(name for name in warm.MODULES if not name.startswith("bascule."))
"""Those that the servers of others need."""


@dataclass(frozen=True)
class WarmBox:
    """The container, and what takes the place of `sys.executable` in it."""

    container: Container
    python: str


@contextmanager
def box_with_python() -> Generator[WarmBox]:
    """For the length of the block. In `make soak` it is a new container, and all is started anew there."""
    with reached() as engine:
        if os.environ.get("BASCULE_SOAK") == "1":
            with engine.container() as box:
                yield WarmBox(box, sys.executable)
        else:
            yield _lasting_box()


_kept = ExitStack()
"""What lasts as long as this process."""


@cache
def _lasting_box() -> WarmBox:
    """One for all tests of one worker, from the first that needs it to the end of the process."""
    engine = running_engine()
    box = _kept.enter_context(engine.container())
    # Seen in the container as it is outside.
    folder = Path(_kept.enter_context(tempfile.TemporaryDirectory(prefix="warm-box-")))
    python = folder / "python"
    started = f"start({DOOR!r}, {sys.executable!r}, {TOLD!r}, [])"
    python.write_text(f"#!{sys.executable} -SE\n{Path(warm_start.__file__).read_text()}\n\n{started}\n")
    python.chmod(0o755)
    words = ("exec", "--interactive", box.name, sys.executable, str(warm.PROGRAM), DOOR, *MODULES)
    process = subprocess.Popen(
        ["docker", "--host", engine.host, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    atexit.register(_end, process)
    _kept.enter_context(lasting(lambda: process.pid))
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return WarmBox(box, str(python))


def _end(process: "subprocess.Popen[bytes]") -> None:
    with process:
        assert process.stdin is not None
        process.stdin.close()
    _kept.close()
