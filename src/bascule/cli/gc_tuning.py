"""Garbage collector settings: off during imports, and a high threshold in servers."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

YOUNG = 20_000
"""Objects that may be new before it is looked which of them nobody knows any more. A dozen calls under way have more
than the 700 of Python's own setting, so that each of them would set it off again and again, and find nothing: calls
leave no circles behind."""


@contextmanager
def loading() -> Generator[None]:
    """What modules make stays until the end. Looking through it, again and again as it grows and once more at the end,
    took a fifth of the time that a command takes to start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def rest() -> None:
    """Call it once all is loaded that lasts for as long as the program: that is not looked through again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 10, 10)
