"""Protocol between runtime and reaper: length-prefixed JSON over a control socket, which the fork server hands over.

    runtime  {"start": {"argv", "env", "cwd", "umask", "nice", "limits"}}, with the three pipes as file descriptors
    reaper   {"keeper": pid, "reach": "tree" or "group"}    at once, before it has read anything
    reaper   {"server": pid}, or {"refused": [errno, text, path]} and its end
    runtime  {"end": "term"} to the server's group, {"end": "kill"} to all processes below the reaper
    reaper   {"exit": code, "left": [pid, …]}, and its end

End of stream from the runtime: it is gone, end everything. From the reaper, without `exit` before: it was killed, and
the server with it. Runs outside the package too: standard library only.
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
