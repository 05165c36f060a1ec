"""How deep a JSON text nests, told from its bytes before anything is built from them."""

import re
from collections.abc import Iterator
from itertools import accumulate

MAX_DEPTH = 200
"""Deepest nesting we accept. Real messages stay below 30; every reader after the parser recurses once a level, and a
peer must not choose how much of the stack that takes."""

_BRACKETS_TO_SQUARE = bytes.maketrans(b"{}", b"[]")
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{}"'))
_RUN = re.compile(rb"\[+|\]+")

_PIECE = 128 * 1024
_PASSES = 8
"""Rounds of removing empty pairs. Each halves a bushy text; what still stands after them has long runs of brackets, and
those are counted a run at a time. Either alone is slow on a text made for it."""


def nests_deeper_than(data: bytes | bytearray | memoryview, limit: int) -> bool:
    """Whether arrays and objects nest more than `limit` deep. Linear, and nearly free for a message with few brackets.

    For text that is not JSON the answer means nothing; the parser will refuse that text anyway.
    """
    if len(data) <= 2 * limit:  # every level takes a bracket to open it and one to close it
        return False
    text = bytes(data)
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    # Two quotes side by side can go: what follows them stays inside or outside of strings as it was.
    skeleton = b"".join(_structure(text)).replace(b'""', b"")
    if b'"' in skeleton:
        # Every second piece between quotes lies outside of strings.
        skeleton = b"".join(skeleton.split(b'"')[::2])
    passes = min(_PASSES, limit)
    for _ in range(passes):
        skeleton = skeleton.replace(b"[]", b"")
    runs = (len(run) if run[0] == 0x5B else -len(run) for run in _RUN.findall(skeleton))
    return max(accumulate(runs), default=0) > limit - passes


def _structure(text: bytes) -> Iterator[bytes]:
    """The brackets and quotes of a text, without escaped ones; a piece at a time, so that no copy leaves the cache."""
    start = 0
    while start < len(text):
        piece = text[start : start + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece = text[start : start + _PIECE + 1]  # an escape must not be cut in two
        start += len(piece)
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        yield piece.translate(_BRACKETS_TO_SQUARE, _NOT_STRUCTURE)
