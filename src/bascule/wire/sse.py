"""Server-sent events (SSE) parser: chunks of any size to whole events, in linear time and bounded memory."""

import re

import msgspec

from bascule.core.errors import ProtocolViolation

_LINE_END = re.compile(rb"\r\n|\r|\n")
_EMPTY_LINES = re.compile(rb"\n{3,}")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_VISIBLE = re.compile(rb"[\x20-\x7e]{1,1024}")

_FIELD_NAME = 64
"""Room for a field's name on a line, so that a message of exactly the longest size still fits behind `data: `."""


class Event(msgspec.Struct, frozen=True):
    """One event: its kind, which is `message` unless the server says otherwise, and its data."""

    name: str
    data: bytes | bytearray


class EventReader:
    """The events of one stream. `last_id` and `retry` outlast the connection: resuming a stream needs them."""

    def __init__(self, max_event: int) -> None:
        self.last_id: str | None = None
        self.retry: float | None = None
        """Seconds the server asks us to wait before we come back."""
        self._max_event = max_event
        self.restart()

    def restart(self) -> None:
        """Forget a half-read event: the stream goes on over a new connection."""
        self.violation: ProtocolViolation | None = None
        """Set once an event is too large. Nothing is read after it; what came before it has been given."""
        self._line = bytearray()
        self._at_start = True
        self._after_cr = False
        self._clear()

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that these bytes complete. Look at `violation` after taking them."""
        if not chunk or self.violation is not None:
            return []
        # A line may end with the two bytes \r\n, and these may come in two chunks.
        text = chunk[1:] if self._after_cr and chunk[0] == 0x0A else chunk
        self._after_cr = chunk[-1] == 0x0D
        if b"\n\n\n" in text:
            # Beyond the one that ends an event, empty lines mean nothing. A server may send them for ever.
            text = _EMPTY_LINES.sub(b"\n\n", text)
        *whole, rest = _LINE_END.split(text)
        events: list[Event] = []
        for line in whole:
            self._end_line(line, events)
            if self.violation is not None:
                return events
        # Only new bytes are ever searched: a line in a million pieces costs no more than one in a single piece.
        self._line += rest
        self._bound(len(self._line), self._max_event + _FIELD_NAME)
        return events

    def _end_line(self, tail: bytes, events: list[Event]) -> None:
        line: bytes | bytearray = tail
        if self._line:
            # What was held goes on as it is: a long line is never in memory twice.
            line, self._line = self._line, bytearray()
            line += tail
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line:
            self._take_field(line)
        else:
            self._end_event(events)

    def _take_field(self, line: bytes | bytearray) -> None:
        # A line that starts with a colon is a comment: its field has no name, and is ignored like any unknown one.
        colon = line.find(b":", 0, _FIELD_NAME)
        name = bytes(line[:colon] if colon >= 0 else line[:_FIELD_NAME])
        start = colon + 1 if colon >= 0 else len(line)
        if line[start : start + 1] == b" ":
            start += 1
        match name:
            case b"data":
                self._take_data(line, start)
            case b"event":
                self._name = bytes(line[start:])
            case b"id":
                self._id = bytes(line[start:])
            case b"retry" if len(line) - start < 10 and line[start:].isdigit():
                self.retry = int(line[start:]) / 1000
            case _:
                pass

    def _take_data(self, line: bytes | bytearray, start: int) -> None:
        if not self._data and isinstance(line, bytearray):
            del line[:start]
            self._data = line
        else:
            self._data += memoryview(line)[start:]
        self._data += b"\n"
        self._bound(len(self._data) - 1, self._max_event)

    def _end_event(self, events: list[Event]) -> None:
        if self._id is not None:
            # It will travel in a header; what cannot makes the stream one that cannot be resumed.
            self.last_id = self._id.decode("ascii") if _VISIBLE.fullmatch(self._id) else None
        if self._data:
            name = self._name.decode("utf-8", "replace") if self._name else "message"
            self._data.pop()
            events.append(Event(name, self._data))
        self._clear()

    def _clear(self) -> None:
        self._data = bytearray()
        self._name = b""
        self._id: bytes | None = None

    def _bound(self, size: int, limit: int) -> None:
        if size > limit:
            self._line.clear()
            self._clear()
            self.violation = ProtocolViolation(
                f"an event of the server's stream is longer than {self._max_event} bytes",
                evidence=f"{size} bytes so far",
                fix="raise messages.max if results of this size are expected",
            )
