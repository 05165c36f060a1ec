"""Demultiplexer for Docker's combined stream of stdout and stderr, in time linear in the input. Each frame has a header
of 8 bytes: the output, three zeros, and the length of the payload."""

from typing import Literal, cast

from bascule.core.errors import ProtocolViolation

STDOUT: Literal[1] = 1
STDERR: Literal[2] = 2

Output = Literal[1, 2]

HEADER = 8

MAX_FRAME = 64 * 1024 * 1024
"""Longest frame we believe in. Engines send what one read gave them, some kilobytes; what says more is no header."""


class DockerStream:
    """Holds the unfinished header of a stream. Nothing is read after a violation; what came before it was given."""

    __slots__ = ("_head", "_missing", "_output", "violation")

    def __init__(self) -> None:
        self._head = b""
        """The part of a header that has come."""
        self._output: Output = STDOUT
        self._missing = 0
        """Bytes that the frame we are in still lacks."""
        self.violation: ProtocolViolation | None = None

    def feed(self, data: bytes) -> list[tuple[Output, bytes]]:
        """What each output has said, in order. A frame is given piece by piece as it comes, so none is ever held."""
        pieces: list[tuple[Output, bytes]] = []
        at = 0
        while at < len(data) and self.violation is None:
            if self._missing:
                piece = data[at : at + self._missing]
                self._missing -= len(piece)
                pieces.append((self._output, piece))
                at += len(piece)
            else:
                lacking = HEADER - len(self._head)
                self._head += data[at : at + lacking]
                at += lacking
                if len(self._head) == HEADER:
                    self._begin(self._head)
                    self._head = b""
        return pieces

    def _begin(self, head: bytes) -> None:
        output, size = head[0], int.from_bytes(head[4:])
        if output not in {STDOUT, STDERR} or head[1:4] != b"\0\0\0":
            self._break("the engine sent something that is no output of the server's", head)
        elif size > MAX_FRAME:
            self._break(f"the engine announced a piece of {size} bytes", head)
        else:
            self._output, self._missing = cast("Output", output), size

    def _break(self, message: str, head: bytes) -> None:
        self.violation = ProtocolViolation(
            message,
            evidence=f"header {head.hex(' ')}",
            cause="the two outputs of the server are not kept apart there, as with a terminal",
            fix="check that DOCKER_HOST names the socket of Docker or podman",
        )
