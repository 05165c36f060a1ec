"""How deep a JSON text nests, told from its bytes before anything is built from them."""

import re
from itertools import accumulate

from bascule.wire.json_limits__pieces import unescaped_pieces

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
