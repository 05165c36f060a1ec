"""How often a program that serves for long looks for what it no longer needs."""

import gc

YOUNG = 20_000
"""Objects that may be new before it is looked which of them nobody knows any more. A dozen calls under way have more
than the 700 of Python's own setting, so that each of them would set it off again and again, and find nothing: calls
leave no circles behind."""


def rest() -> None:
    """Call it once all is loaded that lasts for as long as the program: that is not looked through again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 10, 10)
