"""What arrives on an event stream, in chunks small enough that the loop turns between them."""

import asyncio

from aiohttp import StreamReader

CHUNK = 32 * 1024
"""Bytes taken at once. Several times as much can have arrived by the time we look, and a server that sends nothing but
the shortest events would keep the loop busy with it for a tenth of a second."""


class Chunks:
    """The body of one response. `next` gives what there is, at most so much, and nothing at the end."""

    __slots__ = ("_at", "_content", "_data")

    def __init__(self, content: StreamReader) -> None:
        self._content = content
        self._data = b""
        self._at = 0

    async def next(self) -> bytes:
        if self._at < len(self._data):
            await asyncio.sleep(0)
        else:
            self._data, self._at = await self._content.readany(), 0
        if len(self._data) <= CHUNK:
            self._at = CHUNK
            return self._data
        start, self._at = self._at, self._at + CHUNK
        return self._data[start : self._at]
