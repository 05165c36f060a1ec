"""The last of what a child wrote to stderr, bounded however much it writes."""

import re
from collections.abc import Iterable

RING = 64 * 1024
"""Bytes kept. A stack trace fits many times; a server that logs for days does not."""

TAIL_LINES = 20
"""Lines an error message shows."""

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class StderrRing:
    """Takes bytes for ever, keeps the end of them, and shows it without what it was told to hide."""

    __slots__ = ("_bytes", "_hidden", "_longest", "total")

    def __init__(self, hidden: Iterable[str] = ()) -> None:
        self._bytes = bytearray()
        # Longest first, so that a secret which contains another leaves nothing of itself behind.
        texts = (_cleaned(text).strip() for text in hidden)
        self._hidden = sorted((text for text in texts if len(text) >= 4), key=len, reverse=True)
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
        text = _cleaned(bytes(self._bytes[-RING:]).decode("utf-8", "replace"))
        for secret in self._hidden:
            text = text.replace(secret, "***")
        if self.total > RING:
            # The ring's edge may have cut a secret in two, and its end would not be recognised.
            text = text[self._longest :]
        return "\n".join(text.rstrip().split("\n")[-lines:])


def _cleaned(text: str) -> str:
    return _CONTROL.sub("", _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
