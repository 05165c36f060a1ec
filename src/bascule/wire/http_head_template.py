"""Template of an HTTP head without its few changing values. Matching the next head against it costs less than
parsing."""

import re
from collections.abc import Iterable
from itertools import chain


class Outline:
    """What stands before, between and after the values, byte for byte."""

    __slots__ = ("_first", "_rest", "_size")

    def __init__(self, head: bytes, spans: Iterable[tuple[int, int]], value: bytes) -> None:
        """`spans` say where the values are, in their order. `value` is the expression for what each may be. It must not
        match what follows one, the end of its line: the time is linear then, whatever comes."""
        cuts = [0, *chain.from_iterable(spans), len(head)]
        first, *rest = (head[start:stop] for start, stop in zip(cuts[::2], cuts[1::2], strict=True))
        self._first = first
        self._size = len(first)
        self._rest = re.compile(b"".join(b"(%b)%b" % (value, re.escape(piece)) for piece in rest))

    def values(self, data: bytes) -> tuple[tuple[bytes, ...], int] | None:
        """The values of a head of this outline with which `data` begins, and how long that head is."""
        if not data.startswith(self._first):
            return None
        found = self._rest.match(data, self._size)
        return None if found is None else (found.groups(), found.end())
