"""Ports of this machine, for what is told its port before it listens, and for what finds nobody there.

Not one that the kernel gives out: a moment later it may be somebody's connection, of this test or of one beside it.
"""

import secrets
import socket
from contextlib import ExitStack, suppress

FIRST, LAST = 20_000, 32_000
"""Below those that the kernel gives out, and above most of those that are somebody's."""

TIMES = 100


def free_port(row: int = 1) -> int:
    """The first of so many in a row that nobody listens at."""
    for _ in range(TIMES):
        # Drawn by the kernel: those who were forked from one process would all draw the same.
        port = FIRST + secrets.randbelow(LAST - FIRST - row)
        with suppress(OSError), ExitStack() as held:
            for each in range(port, port + row):
                held.enter_context(socket.create_server(("127.0.0.1", each)))
            return port
    raise AssertionError(f"no {row} free ports in a row between {FIRST} and {LAST}")
