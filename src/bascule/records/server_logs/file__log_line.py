"""One line of a server's log, as it is kept: JSON, so that nothing a server says can pass for another line."""

from typing import Literal

import msgspec


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something a server said on stderr, a change of one of its links, or a word of ours on the log itself."""

    at: float
    """Seconds since the epoch."""
    kind: Literal["stderr", "link", "note"]
    user: str
    session: str
    text: str
    pid: int | None = None
    """The process that said it."""
    state: str | None = None
    """What the link became."""


_decoder = msgspec.json.Decoder(LogLine)
_encoder = msgspec.json.Encoder()


def write_line(line: LogLine) -> bytes:
    return _encoder.encode(line) + b"\n"


def read_line(data: bytes) -> LogLine | None:
    """None for what cannot be read: a disk that was full may have cut a line short."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
