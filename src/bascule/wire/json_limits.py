"""Limits for JSON texts before parsing: nesting depth and number of values, counted in the bytes in linear time."""

import re
from collections.abc import Iterator
from itertools import accumulate

from bascule.core.errors import ProtocolViolation

PIECE = 128 * 1024
"""Bytes at a time, so that no copy leaves the cache."""


def unescaped_pieces(text: bytes | bytearray) -> Iterator[bytes | bytearray]:
    """The text without escaped quotes and backslashes: every quote that is left begins or ends a string."""
    start = 0
    while start < len(text):
        piece = text[start : start + PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece = text[start : start + PIECE + 1]  # an escape must not be cut in two
        start += len(piece)
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        yield piece


MANY_VALUES = 262_144
BYTES_A_VALUE = 32
"""A text may hold that many values, or one for each so many bytes if that is more. Real results have 40 bytes a value
or more; eight megabytes of `1,` would take a hundred and fifty of memory, and the loop a tenth of a second."""

MANY_CONTAINERS = 87_381
BYTES_A_CONTAINER = 96
"""The same for objects and lists, which cost several times as much: eight megabytes of `{},` become two hundred."""

_TO_ONE_BRACKET = bytes.maketrans(b"{", b"[")
_NOT_COUNTED = bytes(set(range(256)) - set(b'[{,"'))


def refuse_dense(text: bytes | bytearray) -> None:
    """Raise `ProtocolViolation` if the text holds more values than its length excuses. Linear, with few bytes copied at
    a time, and over as soon as the answer is known."""
    most_values = max(MANY_VALUES, len(text) // BYTES_A_VALUE)
    most_containers = max(MANY_CONTAINERS, len(text) // BYTES_A_CONTAINER)
    if text.count(b",") <= most_values and text.count(b"[") + text.count(b"{") <= most_containers:
        return
    values = containers = 0
    for outside in _outside_of_strings(text):
        values += outside.count(b",")
        containers += outside.count(b"[")
        if values > most_values or containers > most_containers:
            raise ProtocolViolation(
                f"a message of {len(text)} bytes holds more than "
                + (f"{most_values} values" if values > most_values else f"{most_containers} objects and lists"),
                cause="it is made to cost more memory and time than it took to send",
                fix="ask the server for less at a time, or for text in place of so many small values",
            )


def _outside_of_strings(text: bytes | bytearray) -> Iterator[bytes]:
    """The commas and brackets that are not part of a string, those of objects as those of lists."""
    within = 0
    for piece in unescaped_pieces(text):
        marks = piece.translate(_TO_ONE_BRACKET, _NOT_COUNTED).split(b'"')
        yield b"".join(marks[within::2])
        within ^= (len(marks) - 1) & 1


MAX_DEPTH = 200
"""Deepest nesting we accept. Real messages stay below 30; every reader after the parser recurses once a level, and a
peer must not choose how much of the stack that takes."""

_BRACKETS_TO_SQUARE = bytes.maketrans(b"{}", b"[]")
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{}"'))
_RUN = re.compile(rb"\[+|\]+")

_PASSES = 8
"""Rounds of removing empty pairs. Each halves a bushy text; what still stands after them has long runs of brackets, and
those are counted a run at a time. Either alone is slow on a text made for it."""


def nests_deeper_than(text: bytes | bytearray, limit: int) -> bool:
    """Whether arrays and objects nest more than `limit` deep. Linear, and nearly free for a message with few brackets.

    For text that is not JSON the answer means nothing; the parser will refuse that text anyway.
    """
    if len(text) <= 2 * limit:  # every level takes a bracket to open it and one to close it
        return False
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    # Two quotes side by side can go: what follows them stays inside or outside of strings as it was.
    structure = (piece.translate(_BRACKETS_TO_SQUARE, _NOT_STRUCTURE) for piece in unescaped_pieces(text))
    skeleton = b"".join(structure).replace(b'""', b"")
    if b'"' in skeleton:
        # Every second piece between quotes lies outside of strings.
        skeleton = b"".join(skeleton.split(b'"')[::2])
    passes = min(_PASSES, limit)
    for _ in range(passes):
        skeleton = skeleton.replace(b"[]", b"")
    runs = (len(run) if run[0] == 0x5B else -len(run) for run in _RUN.findall(skeleton))
    return max(accumulate(runs), default=0) > limit - passes
