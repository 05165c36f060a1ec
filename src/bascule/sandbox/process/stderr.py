"""Stderr of a child process, bounded however much it writes: the last 64 KiB, and each line as it comes. Control
sequences and known secrets are removed."""

import re
import time
from collections.abc import Callable, Iterable, Iterator

RING = 64 * 1024
"""Bytes kept. A stack trace fits many times; a server that logs for days does not."""

TAIL_LINES = 20
"""Lines an error message shows."""

LEAST = 4
"""Characters of a secret worth hiding. Shorter ones are words like `on`."""

SHOWN = "***"

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class StderrRing:
    """Takes bytes for ever, keeps the end of them, and shows it without what it was told to hide."""

    __slots__ = ("_bytes", "_hidden", "_longest", "total")

    def __init__(self, hidden: Iterable[str] = ()) -> None:
        self._bytes = bytearray()
        self._hidden = to_hide(hidden)
        self._longest = max((len(text.encode("utf-8", "replace")) for text in self._hidden), default=0)
        self.total = 0

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        self._bytes += data[-RING:]
        if len(self._bytes) > 2 * RING:
            del self._bytes[:-RING]

    def tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines, safe to print: no control sequences, no secrets."""
        # Cleaned first: a colour in the middle of a secret would keep it from being found.
        text = cleaned(bytes(self._bytes[-RING:]).decode("utf-8", "replace"))
        for secret in self._hidden:
            text = text.replace(secret, SHOWN)
        if self.total > RING:
            # The ring's edge may have cut a secret in two, and its end would not be recognised.
            text = text[self._longest :]
        return "\n".join(text.rstrip().split("\n")[-lines:])


def to_hide(secrets: Iterable[str]) -> list[str]:
    """Secrets as they look in a cleaned text. Longest first, so that one which contains another leaves nothing of
    itself behind."""
    texts = {cleaned(text).strip() for text in secrets}
    return sorted((text for text in texts if len(text) >= LEAST), key=len, reverse=True)


def cleaned(text: str) -> str:
    """A text without what a terminal obeys, its lines ended alike."""
    return _CONTROL.sub("", _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


LONGEST_LINE = 8 * 1024
"""Bytes of a line. What follows them is left out."""

FLOOD = 256 * 1024
"""Bytes a second that are looked at. A server that writes more has lost its way, and must not take ours."""

LEAST_LINE = 8
"""Characters in a line of a secret of several lines that are hidden also where they stand alone."""


class StderrLines:
    """Takes bytes for ever and gives lines: without control sequences, without the secrets it was told to hide."""

    __slots__ = ("_hidden", "_left_out", "_longest", "_now", "_rest", "_skipping", "_spent", "_window")

    def __init__(self, hidden: Iterable[str], now: Callable[[], float] = time.monotonic) -> None:
        whole = to_hide(hidden)
        parts = (part for text in whole for part in text.split("\n") if len(part.strip()) >= LEAST_LINE)
        self._hidden = to_hide((*whole, *parts))
        self._longest = max(map(len, self._hidden), default=0)
        self._now = now
        self._rest = b""
        self._skipping = False
        """Whether we are inside a line whose beginning was given, or left out."""
        self._left_out = 0
        self._spent = 0
        self._window = now()

    def feed(self, data: bytes) -> list[str]:
        """The lines that are whole now."""
        if self._floods(len(data)):
            self._left_out += len(data)
            self._rest, self._skipping = b"", True
            return []
        given = [*self._told_left_out()]
        *whole, rest = (self._rest + data).split(b"\n")
        if self._skipping and whole:
            del whole[0]
            self._skipping = False
        self._rest = b"" if self._skipping else rest
        if len(self._rest) > LONGEST_LINE:
            whole.append(self._rest)
            self._rest, self._skipping = b"", True
        return [*given, *(part for line in whole for part in self._shown(line))]

    def end(self) -> list[str]:
        """Nothing more comes: what stands without an end of line is the last one."""
        rest, self._rest = self._rest, b""
        return [*self._shown(rest), *self._told_left_out()]

    def _floods(self, size: int) -> bool:
        now = self._now()
        if now - self._window >= 1:
            self._window, self._spent = now, 0
        before, self._spent = self._spent, self._spent + size
        # What comes in one piece is never too much by itself: the pipe holds only so much.
        return before > 0 and self._spent > FLOOD

    def _told_left_out(self) -> Iterator[str]:
        if self._left_out:
            left_out, self._left_out = self._left_out, 0
            yield f"… {left_out} bytes left out: the server writes more than can be kept"

    def _shown(self, line: bytes) -> Iterator[str]:
        text = cleaned(line[:LONGEST_LINE].decode("utf-8", "replace"))
        for secret in self._hidden:
            text = text.replace(secret, SHOWN)
        if len(line) > LONGEST_LINE:
            # The cut may have gone through a secret, whose beginning would not be recognised.
            text = text[: len(text) - self._longest] + " …"
        yield from (part.rstrip() for part in text.split("\n") if part.strip())
