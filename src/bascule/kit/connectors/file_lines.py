"""Lines of a text file, read only as far as requested, and bounded in size for the model."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from bascule.core.errors import UsageError

MAX_LINE = 64 * 1024
"""Bytes of one line that are shown. What follows in it is left out, and its place marked."""

MAX_SHOWN = 256 * 1024
"""Bytes of one answer. More fills the head of whoever reads it."""

_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class TextPart:
    """Some lines of a file."""

    text: str
    first: int | None
    """The number of the first of them, from 1 on; None if they were counted from the end."""
    lines: int
    more: bool
    """Whether the file goes on: after them, or before them if they were counted from the end."""


def part_from(file: IO[bytes], name: str, first: int, most: int) -> TextPart:
    """`most` lines, from the number `first` on."""
    found: list[bytes] = []
    size = 0
    more = False
    for number, line in enumerate(bounded_lines(file), start=1):
        if number < first:
            continue
        size += len(line)
        if len(found) == most or (size > MAX_SHOWN and found):
            more = True
            break
        found.append(line)
    return TextPart(_joined(found, name), first, len(found), more)


def part_from_end(file: IO[bytes], name: str, most: int) -> TextPart:
    """The last lines. Only the end of the file is read."""
    end = file.seek(0, os.SEEK_END)
    start, tail = end, b""
    while start > 0 and len(tail) < MAX_SHOWN and tail[:-1].count(b"\n") < most:
        size = min(_CHUNK, start)
        start = file.seek(start - size)
        tail = file.read(size) + tail
    lines = _split(tail)
    if start > 0 and len(lines) > 1:
        lines = lines[1:]  # its beginning was not read
    kept: list[bytes] = []
    for line in reversed(lines[-most:]):
        if kept and sum(map(len, kept)) + len(line) > MAX_SHOWN:
            break
        kept.append(_shortened(line))
    kept.reverse()
    return TextPart(_joined(kept, name), None, len(kept), start > 0 or len(kept) < len(lines))


def bounded_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Each with its end. However long one is, no more of it is held than may be shown."""
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            line = _shortened(line)
            while (rest := file.readline(_CHUNK)) and not rest.endswith(b"\n"):
                pass
        yield line


def text_of(data: bytes, name: str) -> str:
    """Refuses what is no text: shown as one it would only look like one."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        reason = f"{error.reason} at byte {error.start} of what was read"
    else:
        if "\0" not in text:
            return text
        reason = "it holds zero bytes"
    raise UsageError(
        f"{name} is no text",
        where=name,
        evidence=reason,
        fix="use a tool for files of its kind; this one reads UTF-8 texts",
    )


def _split(data: bytes) -> list[bytes]:
    """At line ends as `readline` knows them, and no others."""
    *whole, last = data.split(b"\n")
    return [part + b"\n" for part in whole] + ([last] if last else [])


def _shortened(line: bytes) -> bytes:
    if len(line) <= MAX_LINE:
        return line
    cut = line[:MAX_LINE]
    while cut and cut[-1] & 0b1100_0000 == 0b1000_0000:
        cut = cut[:-1]  # not in the middle of a letter
    return cut[:-1] + " […]\n".encode()


def _joined(lines: list[bytes], name: str) -> str:
    return text_of(b"".join(lines), name)
