"""A worker's end of the line to its supervisor: says that it is ready, and hears when to go."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from bascule.gateway.workers.supervisor import READY, RETIRE


class WorkerLine:
    """Heard for as long as the worker lives. A supervisor that is gone is a word to stop: nobody would end us then."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._line.setblocking(False)  # noqa: FBT003
        self._hearing: asyncio.Task[None] | None = None

    def ready(self) -> None:
        with suppress(OSError):  # then it is gone, which is heard
            self._line.send(READY)

    def listen(self, *, retire: Callable[[], None], stop: Callable[[], None]) -> None:
        self._hearing = asyncio.create_task(self._hear(retire, stop), name="line to the supervisor")

    async def close(self) -> None:
        if self._hearing is not None:
            self._hearing.cancel()
            await asyncio.wait((self._hearing,))
        self._line.close()

    async def _hear(self, retire: Callable[[], None], stop: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while word := await loop.sock_recv(self._line, len(RETIRE)):
                if word == RETIRE:
                    retire()
                else:
                    break
        stop()
