"""What a child writes to stderr, line by line as it comes: safe to keep, and bounded however much it writes."""

import time
from collections.abc import Callable, Iterable

from bascule.sandbox.stderr_ring import SHOWN, cleaned, to_hide

LONGEST_LINE = 8 * 1024
"""Bytes of a line. What follows them is left out."""

FLOOD = 256 * 1024
"""Bytes a second that are looked at. A server that writes more has lost its way, and must not take ours."""

LEAST_LINE = 8
"""Characters in a line of a secret of several lines that are hidden also where they stand alone."""


class StderrLines:
    """Takes bytes for ever and tells lines: without control sequences, without the secrets it was told to hide."""

    __slots__ = ("_hidden", "_left_out", "_longest", "_now", "_rest", "_skipping", "_spent", "_tell", "_window")

    def __init__(
        self, hidden: Iterable[str], tell: Callable[[str], None], now: Callable[[], float] = time.monotonic
    ) -> None:
        whole = to_hide(hidden)
        parts = (part for text in whole for part in text.split("\n") if len(part.strip()) >= LEAST_LINE)
        self._hidden = to_hide((*whole, *parts))
        self._longest = max(map(len, self._hidden), default=0)
        self._tell = tell
        self._now = now
        self._rest = b""
        self._skipping = False
        """Whether we are inside a line whose beginning was told, or left out."""
        self._left_out = 0
        self._spent = 0
        self._window = now()

    def feed(self, data: bytes) -> None:
        if self._floods(len(data)):
            self._left_out += len(data)
            self._rest, self._skipping = b"", True
            return
        self._tell_left_out()
        *whole, rest = (self._rest + data).split(b"\n")
        if self._skipping and whole:
            del whole[0]
            self._skipping = False
        for line in whole:
            self._take(line)
        self._rest = b"" if self._skipping else rest
        if len(self._rest) > LONGEST_LINE:
            self._take(self._rest)
            self._rest, self._skipping = b"", True

    def end(self) -> None:
        """Nothing more comes: what stands without an end of line is the last one."""
        self._take(self._rest)
        self._rest = b""
        self._tell_left_out()

    def _floods(self, size: int) -> bool:
        now = self._now()
        if now - self._window >= 1:
            self._window, self._spent = now, 0
        before, self._spent = self._spent, self._spent + size
        # What comes in one piece is never too much by itself: the pipe holds only so much.
        return before > 0 and self._spent > FLOOD

    def _tell_left_out(self) -> None:
        if self._left_out:
            left_out, self._left_out = self._left_out, 0
            self._tell(f"… {left_out} bytes left out: the server writes more than can be kept")

    def _take(self, line: bytes) -> None:
        text = cleaned(line[:LONGEST_LINE].decode("utf-8", "replace"))
        for secret in self._hidden:
            text = text.replace(secret, SHOWN)
        if len(line) > LONGEST_LINE:
            # The cut may have gone through a secret, whose beginning would not be recognised.
            text = text[: len(text) - self._longest] + " …"
        for part in text.split("\n"):
            if part.strip():
                self._tell(part.rstrip())
