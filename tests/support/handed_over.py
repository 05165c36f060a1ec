"""Counts bytes where they are handed over to the loop, not where they arrive: what waits in a pipe arrives later."""

from asyncio import selector_events, unix_events
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

import pytest

OURS = ("aiohttp.client_proto", "bascule.")
"""Where the protocols of our side are defined. The servers of a test may write in the same process."""


class HandedOver:
    """All that our side has handed over, piece by piece. A test may clear it."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def note(self, piece: bytes | bytearray | memoryview, to: Any = None) -> None:
        """Take a piece, and the transport that it is handed to."""
        self.pieces.append(bytes(piece))

    @property
    def size(self) -> int:
        return sum(map(len, self.pieces))


@contextmanager
def handed_over() -> Generator[HandedOver]:
    """Count for the length of the block."""
    counted = HandedOver()
    with counting_in(counted):
        yield counted


@contextmanager
def counting_in(counted: HandedOver, *, memory: bool = True) -> Generator[None]:
    """The same, in what is given; without `memory` not what goes to a server in this process, whose imports take long."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in (selector_events._SelectorSocketTransport, unix_events._UnixWritePipeTransport):  # type: ignore[attr-defined]
            for name in {"write", "writelines"} & kind.__dict__.keys():
                patch.setattr(kind, name, _counting(kind.__dict__[name], counted, many=name == "writelines"))
        if memory:
            _count_in_memory(patch, counted)
        yield


def _count_in_memory(patch: pytest.MonkeyPatch, counted: HandedOver) -> None:
    from bascule.transports.inprocess.memory import MemoryDispatcher
    from bascule.transports.inprocess.python_tools import NativeDispatcher

    for kind in (MemoryDispatcher, NativeDispatcher):
        patch.setattr(kind, "_write", _noting(kind.__dict__["_write"], counted))


def _noting(write: Callable[[Any, bytes], None], counted: HandedOver) -> Callable[[Any, bytes], None]:
    def in_memory(self: Any, data: bytes) -> None:
        counted.note(data)
        write(self, data)

    return in_memory


def _counting(write: Callable[[Any, Any], None], counted: HandedOver, *, many: bool) -> Callable[[Any, Any], None]:
    def counting(self: Any, data: Any) -> None:
        if type(self.get_protocol()).__module__.startswith(OURS):
            pieces: Iterable[Any] = list(data) if many else [data]
            for piece in pieces:
                counted.note(piece, self)
            data = pieces if many else data
        write(self, data)

    return counting
