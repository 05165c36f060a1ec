"""Outgoing queue of a byte stream: few writes, back-pressure while the pipe is full. Each message's permit, and the
leave of the connection, is checked in the step that writes it."""

import asyncio
from collections.abc import Callable

import msgspec

from bascule.core.request import Permit


class Outgoing(msgspec.Struct, eq=False):
    """One message waiting to be written."""

    data: bytes
    permit: Permit | None = None
    sent: bool = False
    dropped: bool = False

    def refuse(self) -> None:
        """Called instead of writing the message when its permit is gone."""
        self.dropped = True


class Outbox:
    """The queue before one byte stream.

    The first message of a loop step is written at once, so that a lone call waits for nothing; those that follow in the
    same step go out together in the next, so that many calls share one system call. While there are many, the first one
    goes with them.
    """

    __slots__ = ("_busy", "_gathering", "_halved", "_leave", "_loop", "_queue", "_write", "paused")

    def __init__(self, write: Callable[[bytes], None], leave: Permit | None = None) -> None:
        self._write = write
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._queue: list[Outgoing] = []
        self._gathering = False
        self._busy = False
        """Whether several left together the last time."""
        self._halved: list[Outgoing] = []
        """What filled the pipe, and may not have left it whole."""
        self.paused = False

    @property
    def spoilt(self) -> bool:
        """Whether something may be half written whose permit is gone."""
        written = (message.permit for message in self._halved if message.sent)
        return any(permit is not None and not permit.valid() for permit in written)

    def clear(self) -> None:
        """Forget what waits."""
        self._queue = []

    def put(self, message: Outgoing) -> None:
        self._queue.append(message)
        if not self._gathering and not self.paused:
            if not self._busy:
                self._flush()
            self._gathering = True
            self._loop.call_soon(self._gathered)

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        self._halved = []
        if not self._gathering:
            self._flush()

    def _gathered(self) -> None:
        self._gathering = False
        self._busy = len(self._queue) > 1
        if self._queue and not self.paused:
            self._flush()

    def _flush(self) -> None:
        queue, self._queue = self._queue, []
        leaving: list[bytes] = []
        # These are the last looks before the bytes are the kernel's. There is no await between here and the write.
        barred = self._leave is not None and not self._leave.valid()
        for message in queue:
            if message.dropped:
                continue
            if barred or (message.permit is not None and not message.permit.valid()):
                message.refuse()
                continue
            message.sent = True
            leaving.append(message.data)
            # Whoever waits for the reply holds the message, and its bytes are of no use to anybody any more.
            message.data = b""
        if leaving:
            self._write(leaving[0] if len(leaving) == 1 else b"".join(leaving))
            if self.paused:
                self._halved = queue


class AtOnce(Outbox):
    """Hands over each message in the step of whoever sends it, to a server in this process: there is no system call to
    share, and what the server does is done in the context of whoever asked."""

    __slots__ = ()

    def put(self, message: Outgoing) -> None:
        self._queue.append(message)
        self._flush()
