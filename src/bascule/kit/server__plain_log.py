"""The log of a server of ours while it is served: plain lines on stderr, and tracebacks whole."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

FASTMCP = logging.getLogger("fastmcp")
"""Draws boxes as wide as a terminal, unless told otherwise: lines are cut, and all but a few frames of a traceback are
left out. What a client is not shown has to be found somewhere."""


@contextmanager
def plain_log(level: str | int | None = None) -> Generator[None]:
    """For as long as a server is served. Where its author has set up logging, what it says goes there instead.

    `level` is how much FastMCP says of what it does. At the end, everything is put back.
    """
    root = logging.getLogger()
    handlers, propagates, said = [*FASTMCP.handlers], FASTMCP.propagate, FASTMCP.level
    mine = logging.StreamHandler() if not root.handlers else None
    if mine is not None:
        mine.setFormatter(logging.Formatter(FORMAT))
        root.addHandler(mine)
    for handler in handlers:
        FASTMCP.removeHandler(handler)
    FASTMCP.propagate = True
    if level is not None:
        FASTMCP.setLevel(level.upper() if isinstance(level, str) else level)
    try:
        yield
    finally:
        FASTMCP.setLevel(said)
        FASTMCP.propagate = propagates
        for handler in handlers:
            FASTMCP.addHandler(handler)
        if mine is not None:
            root.removeHandler(mine)
