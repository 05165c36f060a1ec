"""The last of what a child wrote to stderr, bounded however much it writes."""

import re
from collections.abc import Iterable

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
