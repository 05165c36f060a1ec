"""Message framing of byte streams in linear time: newline-delimited lines and `Content-Length` blocks. `LongLines`
skips a line over the limit, where `LineFramer` ends the stream."""

import re
from typing import Literal, Protocol

import msgspec

from bascule.core.errors import ProtocolViolation
from bascule.wire.jsonrpc import RequestId, sample

MAX_HEADERS = 4096
"""Bytes of headers before one message. Two short ones are usual; a server that never ends them is not to be awaited."""

_RAISE_CAP = "if the server may send that much, raise `messages.max`"
_FIRST_WORDS = (b"content-length:", b"content-type:")


class Framer(Protocol):
    """Holds the unfinished end of a stream. Nothing is read after a violation; what came before it has been given."""

    violation: ProtocolViolation | None

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that `data` completes."""
        ...


def framing_of(start: bytes) -> Literal["lines", "lengths"] | None:
    """How a server frames, from the first bytes it sent. None: too few to tell."""
    begun = start[: len(_FIRST_WORDS[0])].lower()
    if begun.startswith(_FIRST_WORDS):
        return "lengths"
    return None if any(word.startswith(begun) for word in _FIRST_WORDS) else "lines"


def as_line(message: bytes) -> bytes:
    return message + b"\n"


def with_length(message: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)


class LineFramer:
    """Messages that end with a newline, which every server should send."""

    __slots__ = ("_held", "_max", "violation")

    def __init__(self, max_message: int) -> None:
        self._max = max_message
        # One buffer, of which only new bytes are ever searched. A list of pieces would hold a line that comes two bytes
        # at a time in thirty times its size.
        self._held = bytearray()
        self.violation: ProtocolViolation | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that `data` completes, without their newlines. Empty lines are not messages."""
        if self.violation is not None:
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
        self.violation = too_long(self._max)
        self._held = bytearray()


class LengthFramer:
    """Messages that each stand behind headers which tell their length, as language servers send them."""

    __slots__ = ("_head", "_held", "_length", "_max", "_missing", "violation")

    def __init__(self, max_message: int) -> None:
        self._max = max_message
        self._held = bytearray()
        """The unfinished header line, or the unfinished message."""
        self._head = 0
        """Bytes of this message's headers so far."""
        self._length: int | None = None
        """What the headers say, once one of them does."""
        self._missing: int | None = None
        """Bytes that the message still lacks. None: still among its headers."""
        self.violation: ProtocolViolation | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that `data` completes, without their headers. Empty ones are not messages."""
        messages: list[bytes] = []
        at = 0
        while at < len(data) and self.violation is None:
            at = self._take_line(data, at) if self._missing is None else self._take_body(data, at, messages)
        return messages

    def _take_line(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at, at + MAX_HEADERS)
        stop = end if end >= 0 else min(len(data), at + MAX_HEADERS)
        self._held += data[at:stop]
        self._head += stop - at
        if self._head >= MAX_HEADERS:
            self._break(f"the headers of a message are longer than {MAX_HEADERS} bytes", self._held)
        elif end >= 0:
            line, self._held = bytes(self._held).rstrip(b"\r"), bytearray()
            self._take_header(line) if line else self._end_headers()
        return stop + 1 if end >= 0 else stop

    def _take_header(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        value = value.strip()
        if not colon:
            self._break("a line between messages is not a header", line, "it prints to stdout, beside the protocol")
        elif name.strip().lower() != b"content-length":
            return
        elif self._length is not None:
            self._break("a message has two Content-Length headers", line)
        elif not value.isdigit():
            self._break("the Content-Length of a message is not a number", line)
        # More digits than any length we take: not worth turning into a number, which is slow for millions of them.
        elif len(value.lstrip(b"0")) > 18 or int(value) > self._max:
            self.violation = too_long(self._max)
        else:
            self._length = int(value)

    def _end_headers(self) -> None:
        if self._length is not None:
            self._missing = self._length
        elif self._head > 1:
            self._break("a message has no Content-Length", b"")
        # A lone empty line comes from a server that ends its messages with one, as if they were lines.
        self._head = 0
        if self._missing == 0:
            self._length = self._missing = None

    def _take_body(self, data: bytes, at: int, messages: list[bytes]) -> int:
        assert self._missing is not None
        piece = data[at : at + self._missing]
        self._held += piece
        self._missing -= len(piece)
        if self._missing == 0:
            messages.append(bytes(self._held))
            self._held = bytearray()
            self._length = self._missing = None
        return at + len(piece)

    def _break(self, message: str, line: bytes | bytearray, cause: str = "") -> None:
        self.violation = ProtocolViolation(
            message,
            evidence=sample(line),
            cause=cause or "the server frames its messages with Content-Length, and does it wrongly",
            fix="make the server send one message a line, as the protocol asks",
        )
        self._held = bytearray()


def too_long(limit: int) -> ProtocolViolation:
    return ProtocolViolation(f"a message is longer than {limit} bytes", fix=_RAISE_CAP)


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
