"""The end of a chain as it lies on disk, read without reading the rest."""

import os
from collections.abc import Sequence
from pathlib import Path

from bascule.store.audit.chain import Chain, Macs, head_of, split

CHUNK = 64 * 1024

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes. A longer line is none of ours: a message has at most a few megabytes."""


class Tail:
    """The last two whole lines, and how many bytes of an unfinished one come after them."""

    def __init__(self, lines: Sequence[bytes], torn: int) -> None:
        self.lines = tuple(lines)
        self.torn = torn

    def chain(self, macs: Macs) -> Chain | None:
        """The chain to be continued. None, if what it ends with cannot be believed."""
        if not self.lines:
            return Chain(macs)
        parts = [split(line) for line in self.lines]
        before, last = parts[0] if len(parts) > 1 else (b"", macs.first), parts[-1]
        if before is None or last is None:
            return None
        body, mac = last
        head = head_of(body)
        if head is None or macs.over(before[1], body) != mac:
            return None
        # One line alone is the first, or the one before it is missing.
        return Chain(macs, head.seq, mac) if (head.seq == 1) == (len(parts) == 1) else None


def read_tail(files: Sequence[Path]) -> Tail:
    """The end of a chain that lies in these files. Raises `OSError`."""
    lines: list[bytes] = []
    torn = 0
    for place, path in enumerate(reversed(files)):
        found, rest = _last_lines(path, 2 - len(lines))
        if place == 0:
            torn = rest
        elif rest:
            # Only the newest file can have been in the making.
            lines.insert(0, b"")
        lines = [*found, *lines]
        if len(lines) >= 2:
            break
    return Tail(lines[-2:], torn)


def _last_lines(path: Path, count: int) -> tuple[list[bytes], int]:
    """At most so many whole lines from the end of a file, and the bytes after them."""
    with path.open("rb") as file:
        start = file.seek(0, os.SEEK_END)
        data = b""
        # One line end more than lines: the first line that is taken has to begin behind one.
        while start and data.count(b"\n") <= count and len(data) < LONGEST_LINE:
            step = min(CHUNK, start)
            start -= step
            file.seek(start)
            data = file.read(step) + data
    whole, end, rest = data.rpartition(b"\n")
    lines = whole.split(b"\n") if end else []
    if start:
        # The beginning of this one was not read. Where there is no other, nothing here can be believed.
        lines = lines[1:] or [b""]
    return lines[-count:], len(rest)
