"""Whole result as bytes, sampled from both ends without a copy."""

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bascule.result_limits.to_json import written

CHUNK = 1 << 20
"""Bytes that are looked at in one go. A copy of all would be as large as the result."""

Span = tuple[int, int]
"""Where something begins and ends, in bytes."""

_UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, which a terminal would obey, and halves of characters, which cannot be sent on."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A result as it will be saved."""

    data: bytes
    characters: int
    """Of the text; of what is no text, its bytes."""
    is_text: bool
    """Whether it is UTF-8."""

    @classmethod
    def of_text(cls, text: str) -> "Whole":
        try:
            return cls(text.encode(), len(text), is_text=True)
        except UnicodeEncodeError:
            return cls(text.encode("utf-8", "surrogatepass"), len(text), is_text=False)

    @classmethod
    def of_bytes(cls, data: bytes) -> "Whole":
        decoder, characters = codecs.getincrementaldecoder("utf-8")(), 0
        try:
            for start in range(0, len(data), CHUNK):
                characters += len(decoder.decode(data[start : start + CHUNK]))
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return cls(data, len(data), is_text=False)
        return cls(data, characters, is_text=True)

    @classmethod
    def of_value(cls, value: Any) -> "Whole":
        """Of a list or an object, as JSON."""
        return cls.of_bytes(written(value))

    @property
    def end(self) -> int:
        """Where the last line ends. What only ends lines is not counted."""
        return len(self.data) - 1 if self.data.endswith(b"\n") else len(self.data)

    @property
    def lines(self) -> int:
        return self.data.count(b"\n", 0, self.end) + 1

    def sample(self, size: int, start: int = 0) -> str:
        """What can be read in that many bytes."""
        return _decoded(self.data, (start, min(start + size, len(self.data))))

    def head_lines(self, most: int, start: int = 0) -> Iterator[Span]:
        """The first lines from there on."""
        end = self.end
        while most > 0 and start <= end:
            stop = self.data.find(b"\n", start, end)
            stop = end if stop < 0 else stop
            yield start, stop
            start, most = stop + 1, most - 1

    def tail_lines(self, most: int, start: int = 0) -> Iterator[Span]:
        """The last lines, the very last first, and none that begins before there."""
        stop = self.end
        while most > 0 and stop >= start:
            begin = self.data.rfind(b"\n", start, stop) + 1 or start
            yield begin, stop
            stop, most = begin - 1, most - 1

    def shown(self, span: Span) -> Callable[[int], str]:
        """What is there, for as much room as it gets."""
        return lambda room: self._clipped(span, room)

    def _clipped(self, span: Span, room: int) -> str:
        start, stop = span
        if stop - start <= 4 * room:
            return clip(_decoded(self.data, span), room)
        # However many bytes a character has, this is more than fits.
        near = 4 * room
        ends = _decoded(self.data, (start, start + near)), _decoded(self.data, (stop - near, stop))
        return _joined(*ends, room)


def clip(text: str, room: int) -> str:
    """The text, or its beginning and its end."""
    return text if len(text) <= room else _joined(text, text, room)


def _joined(first: str, last: str, room: int) -> str:
    if room < 8:
        return first[:room]
    tail = room // 4
    head = room - tail - 3
    return f"{first[:head]} … {last[len(last) - tail :]}"


def _decoded(data: bytes, span: Span) -> str:
    """As text, with what is none as escapes. A character that the edges cut in two is left out."""
    start, stop = span
    first, last = _after_character(data, start), _before_character(data, stop)
    text = data[first : max(first, last)].decode("utf-8", "backslashreplace").removesuffix("\r")
    return _UNPRINTED.sub(lambda found: f"\\x{ord(found[0]):02x}", text) if _UNPRINTED.search(text) else text


def _after_character(data: bytes, start: int) -> int:
    for at in range(start, min(start + 3, len(data))) if start else ():
        if data[at] & 0xC0 != 0x80:
            return at
    return start


def _before_character(data: bytes, stop: int) -> int:
    """Where the last whole character before there ends."""
    for at in range(stop, max(stop - 3, 0), -1) if stop < len(data) else ():
        if data[at] & 0xC0 != 0x80:
            return at
    return stop
