"""Workspaces for tests: on both engines, beside a canary that nobody may touch, and calls in whose course they change."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bascule.core.errors import BasculeError
from bascule.core.undo.transaction import CURRENT, Transaction
from bascule.workspace.openat import Engine, KernelEngine, WalkEngine

ENGINES: tuple[type[Engine], ...] = (KernelEngine, WalkEngine)
SECRET = "the canary sings"
OUTSIDE_ONLY = "canary.cage"
"""The name of a file that is outside, and never inside."""


@contextmanager
def in_call(transaction: Transaction) -> Generator[Transaction]:
    """What is changed here belongs to that call."""
    token = CURRENT.set(transaction)
    try:
        yield transaction
    finally:
        CURRENT.reset(token)


def tree(folder: Path) -> dict[str, str | None]:
    """Every file below with its content, every folder with None, every link with where it leads."""
    return {
        str(path.relative_to(folder)): f"-> {path.readlink()}"
        if path.is_symlink()
        else path.read_text()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def canary(folder: Path) -> dict[str, str | None]:
    """Something outside, with names that look at home."""
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    (folder / OUTSIDE_ONLY).write_text("")
    (folder / "sub").mkdir()
    (folder / "sub" / "f").write_text(SECRET)
    return tree(folder)


def texts(error: BaseException | None) -> Iterator[str]:
    """All that an error says, and what hangs on to it."""
    while error is not None:
        yield from (str(error), repr(error), repr(error.args))
        if isinstance(error, OSError):
            yield from (str(error.filename), str(error.filename2))
        if isinstance(error, BasculeError):
            yield from (error.message, error.where, error.evidence, error.cause, error.fix)
        error = error.__cause__ or error.__context__


def slots(home: Path) -> list[str]:
    """What lies in the attic, but for the index of it."""
    return [str(path) for path in (home / "attic").glob("*/*") if path.name != "index"]


def open_descriptors(folder: Path) -> int:
    """How many of this process lead to something in that folder."""
    found = 0
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found += str(link.readlink()).startswith(str(folder))
    return found
