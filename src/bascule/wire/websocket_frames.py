"""WebSocket client frames (RFC 6455): whole messages, always masked, never compressed. Pure: the mask is an
argument."""

from typing import Literal

TEXT: Literal[0x1] = 0x1
CLOSE: Literal[0x8] = 0x8
PONG: Literal[0xA] = 0xA

NORMAL_CLOSURE = (1000).to_bytes(2)
"""What a closing frame says when nothing is wrong."""

_WHOLE, _MASKED = 0x80, 0x80


def client_frame(kind: int, payload: bytes, mask: bytes) -> bytes:
    """One frame. `mask` is four bytes that nobody can foresee, lest a proxy on the way take the payload for HTTP."""
    size = len(payload)
    if size < 126:
        head = bytes((_WHOLE | kind, _MASKED | size))
    elif size < 1 << 16:
        head = bytes((_WHOLE | kind, _MASKED | 126)) + size.to_bytes(2)
    else:
        head = bytes((_WHOLE | kind, _MASKED | 127)) + size.to_bytes(8)
    return head + mask + _masked(payload, mask)


def _masked(payload: bytes, mask: bytes) -> bytes:
    # As one long number each: byte by byte, a megabyte would take a tenth of a second.
    size = len(payload)
    pattern = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "little") ^ int.from_bytes(pattern, "little")).to_bytes(size, "little")
