"""Messages on their way out of a byte stream: gathered into few writes, held while the pipe is full, and each asked for
its permit in the very step that hands it over."""

import asyncio
from collections.abc import Callable

from bascule.core.request import Permit


class Outgoing:
    """One message waiting to be written."""

    __slots__ = ("data", "dropped", "permit", "sent")

    def __init__(self, data: bytes, permit: Permit | None = None) -> None:
        self.data = data
        self.permit = permit
        self.sent = False
        self.dropped = False

    def refuse(self) -> None:
        """Called instead of writing the message when its permit is gone."""
        self.dropped = True


class Outbox:
    """The queue before one byte stream.

    The first message of a loop step is written at once, so that a lone call waits for nothing; those that follow in the
    same step go out together in the next, so that many calls share one system call.
    """

    __slots__ = ("_gathering", "_loop", "_queue", "_write", "paused")

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._loop = asyncio.get_running_loop()
        self._queue: list[Outgoing] = []
        self._gathering = False
        self.paused = False

    def put(self, message: Outgoing) -> None:
        self._queue.append(message)
        if not self._gathering and not self.paused:
            self._flush()
            self._gathering = True
            self._loop.call_soon(self._gathered)

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        if not self._gathering:
            self._flush()

    def _gathered(self) -> None:
        self._gathering = False
        if self._queue and not self.paused:
            self._flush()

    def _flush(self) -> None:
        queue, self._queue = self._queue, []
        leaving: list[bytes] = []
        for message in queue:
            if message.dropped:
                continue
            # This is the last look before the bytes are the kernel's. There is no await between here and the write.
            if message.permit is not None and not message.permit.valid():
                message.refuse()
                continue
            message.sent = True
            leaving.append(message.data)
        if leaving:
            self._write(leaving[0] if len(leaving) == 1 else b"".join(leaving))
