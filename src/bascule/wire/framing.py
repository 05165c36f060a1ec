"""Cuts a stream of bytes into newline-delimited messages, in time linear in what arrives."""


class LineFramer:
    """Holds the unfinished end of a stream. A line over the cap sets `overflowed`, and nothing after it is read."""

    __slots__ = ("_held", "_max", "overflowed")

    def __init__(self, max_message: int) -> None:
        self._max = max_message
        # One buffer, of which only new bytes are ever searched. A list of pieces would hold a line that comes two bytes
        # at a time in thirty times its size.
        self._held = bytearray()
        self.overflowed = False

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that `data` completes, without their newlines. Empty lines are not messages."""
        if self.overflowed:
            return []
        lines = data.split(b"\n")
        tail = lines.pop()
        if lines and self._held:
            self._held += lines[0]
            lines[0] = bytes(self._held)
            self._held = bytearray()
        self._held += tail
        return self._within_cap(lines)

    def _within_cap(self, lines: list[bytes]) -> list[bytes]:
        kept: list[bytes] = []
        for line in lines:
            if len(line) > self._max:
                self._overflow()
                return kept
            if line and not line.isspace():
                kept.append(line)
        if len(self._held) > self._max:
            self._overflow()
        return kept

    def _overflow(self) -> None:
        self.overflowed = True
        self._held = bytearray()
