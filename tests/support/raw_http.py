"""Connections on which bytes are sent as they are: no client would send half of what is sent here."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

from support.gateways import META
from support.kit_http import NEW
from support.waiting import fail_after


class Raw:
    """One connection, on which bytes are sent as they are."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *data: bytes) -> None:
        for each in data:
            self.writer.write(each)

    def stop_reading(self) -> None:
        """Take in nothing, beyond what the kernel does by itself."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        cast("asyncio.Transport", self.writer.transport).pause_reading()

    def go_on_reading(self) -> None:
        cast("asyncio.Transport", self.writer.transport).resume_reading()

    async def ended(self) -> None:
        """Hung up on, which who does not read learns when it writes."""
        while not self.writer.transport.is_closing():
            self.writer.write(b"x")
            await asyncio.sleep(0.01)

    async def all(self) -> bytes:
        """What comes until it is closed. A reset is a way to close."""
        got = bytearray()
        async with fail_after(30, "the end of a connection"):
            try:
                while piece := await self.reader.read(65536):
                    got += piece
            except ConnectionError:
                pass
        return bytes(got)

    async def statuses(self) -> list[int]:
        return [int(part[:3]) for part in (await self.all()).split(b"HTTP/1.1 ")[1:]]


@asynccontextmanager
async def raw_to(port: int) -> AsyncGenerator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Raw(reader, writer)
    finally:
        writer.transport.abort()


def request(port: int, method: str = "tools/call", head: bytes = b"", **params: Any) -> bytes:
    """A call of `work_act`, with more headers."""
    given = {"name": "work_act", "arguments": params, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": given}).encode()
    told = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: */*\r\nContent-Type: application/json\r\n"
    told += f"MCP-Protocol-Version: {NEW}\r\nMcp-Method: {method}\r\nMcp-Name: work_act\r\n"
    return told.encode() + b"Content-Length: %d\r\n" % len(body) + head + b"\r\n" + body
