"""A JSON text cut into pieces that can be looked at one by one, with its escapes taken out."""

from collections.abc import Iterator

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
