"""Cuts a stream of bytes into lines, and passes over those that are too long instead of giving the stream up."""

import re

import msgspec

from bascule.wire.jsonrpc import RequestId

SHOWN = 256
"""Bytes that are kept of either end of a line that is passed over: enough to find out whose it is."""

_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID = rb'"id"\s*:\s*(\d{1,18}|"[^"\\\x00-\x1f]{1,200}")'
_AT_THE_START = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID + rb"\s*,")
_AT_THE_END = re.compile(rb",\s*" + _ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*$")


class TooLong(msgspec.Struct, frozen=True):
    """A line that was passed over. Where its ends show the id of a request, that is told: somebody waits for it."""

    id: RequestId | None = None


class LongLines:
    """Holds the unfinished end of a stream, never more of it than one line may have."""

    __slots__ = ("_held", "_max", "_passing", "_start")

    def __init__(self, max_message: int) -> None:
        self._max = max_message
        self._held = bytearray()
        self._passing = False
        """Whether the line that comes is too long. Only its end is held then."""
        self._start = b""

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The lines that `data` completes, without their newlines. Empty ones are left out."""
        lines = data.split(b"\n")
        tail = lines.pop()
        whole = [self._whole(line) for line in lines]
        self._hold(tail)
        return [line for line in whole if isinstance(line, TooLong) or (line and not line.isspace())]

    def _whole(self, end: bytes) -> bytes | TooLong:
        if not self._held and len(end) <= self._max:
            return end
        self._hold(end)
        held, self._held = bytes(self._held), bytearray()
        if not self._passing:
            return held
        self._passing = False
        return TooLong(_id_of(self._start, held))

    def _hold(self, piece: bytes) -> None:
        self._held += piece
        if not self._passing and len(self._held) > self._max:
            self._passing = True
            self._start = bytes(self._held[:SHOWN])
        if self._passing:
            del self._held[:-SHOWN]


def _id_of(start: bytes, end: bytes) -> RequestId | None:
    """Only where it can be nothing but the message's own: as its first field, or as its last."""
    found = _AT_THE_START.match(start) or _AT_THE_END.search(end)
    try:
        return None if found is None else msgspec.json.decode(found[1])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
