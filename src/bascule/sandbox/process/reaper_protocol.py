"""What we and a keeper write each other: JSON, each text behind its length. Runs outside too: standard library only.

A keeper is given a control socket by its nursery, and everything else comes over that:

    we       {"start": {"argv", "env", "cwd", "umask", "nice", "limits"}}, with the three pipes as file descriptors
    keeper   {"keeper": pid, "reach": "tree" or "group"}    at once, before it has read a word
    keeper   {"server": pid}, or {"refused": [errno, text, path]} and its end
    we       {"end": "term"} to the server's group, {"end": "kill"} to everything beneath the keeper
    keeper   {"exit": code, "left": [pid, …]}, and its end

The end of the stream is a word too. From us: we are gone, end everything. From the keeper, without an `exit` before: it
was killed, and the server with it.
"""

from collections.abc import Iterator

LENGTH = 4
LONGEST = 1 << 28
"""No command is as long. A length beyond is not one of ours."""

TERM = b'{"end":"term"}'
KILL = b'{"end":"kill"}'


def letter(text: bytes) -> bytes:
    return len(text).to_bytes(LENGTH, "big") + text


class Letterbox:
    """Takes bytes as they come, gives texts as they are whole."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._bytes += data
        while len(self._bytes) >= LENGTH:
            end = LENGTH + int.from_bytes(self._bytes[:LENGTH], "big")
            if end > LONGEST:
                raise ValueError("not a letter")
            if len(self._bytes) < end:
                return
            text = bytes(self._bytes[LENGTH:end])
            del self._bytes[:end]
            yield text


def carried(text: bytes) -> str:
    """Bytes that a process is given, as they go through JSON. Not every name or argument is UTF-8."""
    return text.decode("utf-8", "surrogateescape")


def given(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
