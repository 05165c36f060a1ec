"""Write back-pressure: waits for slow clients, and closes the connection of one that reads less than 8 KiB/s."""

import asyncio

from bascule.gateway.http.connection_limit import Guest, Hall

READ_WITHIN = 15.0
"""Seconds after which it is looked how much of a long answer was read."""

SLOWEST_READ = READ_WITHIN * 8 * 1024
"""Bytes that must have been read by then, at the least: 8 KiB a second. Who reads none at all only holds our memory."""


class Outflow:
    """One connection's. Its transport says when there is more waiting than it likes, and when that has passed."""

    __slots__ = ("_drained", "_guest", "_hall", "_looking", "_loop", "_transport", "paused")

    def __init__(self, hall: Hall, guest: Guest, transport: asyncio.WriteTransport) -> None:
        self._hall = hall
        self._guest = guest
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._drained: asyncio.Event | None = None
        self._looking: asyncio.TimerHandle | None = None
        self.paused = False
        """Whether the client has still to read what was written before."""

    def pause(self) -> None:
        self.paused = True
        size = self._transport.get_write_buffer_size()
        self._hall.falls_behind(self._guest, size)
        self._looking = self._loop.call_later(READ_WITHIN, self.look, size)

    def resume(self) -> None:
        self._hall.catches_up(self._guest)
        self.end()

    def end(self) -> None:
        """Nobody waits any more: all of it was read, or nobody is there to read it."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        self.paused = False
        if self._drained is not None:
            self._drained.set()

    async def drained(self) -> None:
        """Wait until the client has read, or is gone."""
        while self.paused:
            if self._drained is None:
                self._drained = asyncio.Event()
            self._drained.clear()
            await self._drained.wait()

    def look(self, before: int) -> None:
        size = self._transport.get_write_buffer_size()
        if before - size < SLOWEST_READ:
            self._guest.hang_up()
        else:
            self._looking = self._loop.call_later(READ_WITHIN, self.look, size)
