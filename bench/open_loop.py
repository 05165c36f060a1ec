"""Open-loop load generator with a fixed request rate: a slow response does not delay the requests after it."""

import asyncio
import time
from urllib.parse import urlsplit

from bench.wrk import ID, Request


class Line:
    """One connection, which carries one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, sent: bytes) -> bytes:
        """The answer's body. Raises `RuntimeError` if its status is not 200."""
        self._writer.write(sent)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            raise RuntimeError(head.decode())
        if b"transfer-encoding: chunked" in head:
            return await self._chunks()
        length = int(head.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        return await self._reader.readexactly(length)

    async def _chunks(self) -> bytes:
        body = b""
        while length := int(await self._reader.readline(), 16):
            body += (await self._reader.readexactly(length + 2))[:-2]
        await self._reader.readline()
        return body

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def opened(url: str) -> Line:
    address = urlsplit(url)
    return Line(*await asyncio.open_connection(address.hostname, address.port))


def written(url: str, request: Request, number: int = 1) -> bytes:
    """The request as it goes over the line."""
    address = urlsplit(url)
    body = request.body.replace(ID, str(number)).encode()
    headers = {**request.headers, "host": address.netloc, "content-length": str(len(body))}
    lines = [f"POST {address.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class OpenLoop:
    """Asks one place. Keeps as many connections as were ever needed at once."""

    def __init__(self, url: str, request: Request) -> None:
        self._url = url
        self._sent = written(url, request)
        self._idle: list[Line] = []

    async def _one(self) -> float:
        line = self._idle.pop() if self._idle else await opened(self._url)
        began = time.perf_counter()
        answer = await line.ask(self._sent)
        took = time.perf_counter() - began
        if b"hello" not in answer:
            raise RuntimeError(answer.decode())
        self._idle.append(line)
        return took

    async def asked(self, rate: float, seconds: float) -> list[float]:
        """How long each answer took, in seconds, the shortest first."""
        loop = asyncio.get_running_loop()
        begun, under_way = loop.time(), list[asyncio.Task[float]]()
        for number in range(int(rate * seconds)):
            await asyncio.sleep(begun + number / rate - loop.time())
            under_way.append(asyncio.create_task(self._one()))
        try:
            return sorted(await asyncio.gather(*under_way))
        finally:
            # By the next time they would have been idle for so long that they are hung up on.
            await asyncio.gather(*(line.close() for line in self._idle))
            self._idle.clear()
