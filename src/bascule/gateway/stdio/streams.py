"""Stdin and stdout reserved for the protocol, as pipes for the event loop: prints of other code go to stderr."""

import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Thread

from bascule.core.errors import UsageError
from bascule.gateway.stdio.serve import Ends

PIECE = 64 * 1024
"""Bytes that are carried at once between a file and a pipe."""

FLUSHED_WITHIN = 1.0
"""Seconds that a file or a terminal may take for the last that was written to it."""


@contextmanager
def standard_ends() -> Generator[Ends]:
    """The two ends, as an event loop takes them. From here on what is printed goes to stderr, and nothing can be read
    from stdin. Raises `UsageError` where one of them is closed."""
    # Which Python says so. The descriptor of one that is closed may by now be something else's.
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise UsageError("stdin or stdout is closed", fix="start it with a pipe at both, as MCP clients do")
    sys.__stdout__.flush()
    reading, writing = os.dup(0), os.dup(1)
    _close_to_others()
    # One socket for both directions cannot be on the loop twice.
    alone = not os.path.samestat(os.fstat(reading), os.fstat(writing))
    carrying: Thread | None = None
    if not _fits(reading, alone=alone):
        reading = _carried_from(reading)
    if not _fits(writing, alone=alone):
        writing, carrying = _carried_to(writing)
    yield Ends(reading, writing)
    if carrying is not None:
        carrying.join(FLUSHED_WITHIN)


def _close_to_others() -> None:
    """A stray print of a library would otherwise end up between two messages, and a child could read ours."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing if sys.__stderr__ is None else 2, 1)
    os.close(nothing)


def _fits(descriptor: int, *, alone: bool) -> bool:
    """Whether a loop can wait for it without blocking anybody else: a terminal is shared with the shell, and whether a
    file can be read cannot be waited for."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or (stat.S_ISSOCK(mode) and alone)


def _carried_from(source: int) -> int:
    """A pipe from which comes what is read there."""
    ours, theirs = os.pipe()
    # It may never end: nobody can be made to type.
    Thread(target=_carry, args=(source, theirs), daemon=True).start()
    return ours


def _carried_to(target: int) -> tuple[int, Thread]:
    theirs, ours = os.pipe()
    thread = Thread(target=_carry, args=(theirs, target), daemon=True)
    thread.start()
    return ours, thread


def _carry(source: int, target: int) -> None:
    # Whoever reads or writes at the other end has gone: so have we, and the loop sees it at our end.
    with suppress(OSError):
        while piece := os.read(source, PIECE):
            view = memoryview(piece)
            while view:
                view = view[os.write(target, view) :]
    for descriptor in (source, target):
        os.close(descriptor)
