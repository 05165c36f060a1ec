"""Cuts a stream of bytes into newline-delimited messages, in time linear in what arrives."""


class LineFramer:
    """Holds the unfinished end of a stream. A line over the cap sets `overflowed`, and nothing after it is read."""

    __slots__ = ("_held", "_max", "_parts", "overflowed")

    def __init__(self, max_message: int) -> None:
        self._max = max_message
        # Pieces, not one buffer: growing and re-scanning a buffer for every chunk is quadratic.
        self._parts: list[bytes] = []
        self._held = 0
        self.overflowed = False

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that `data` completes, without their newlines. Empty lines are not messages."""
        if self.overflowed:
            return []
        lines = data.split(b"\n")
        tail = lines.pop()
        if lines and self._parts:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts.clear()
            self._held = 0
        if tail:
            self._parts.append(tail)
            self._held += len(tail)
        return self._within_cap(lines)

    def _within_cap(self, lines: list[bytes]) -> list[bytes]:
        kept: list[bytes] = []
        for line in lines:
            if len(line) > self._max:
                self._overflow()
                return kept
            if line and not line.isspace():
                kept.append(line)
        if self._held > self._max:
            self._overflow()
        return kept

    def _overflow(self) -> None:
        self.overflowed = True
        self._parts.clear()
        self._held = 0
