"""Loopback listener for the redirect of one OAuth login."""

import asyncio
import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from bascule.core.errors import UsageError

PATH = "/callback"
HOST = "127.0.0.1"

LONGEST_HEAD = 16 * 1024
"""Bytes of a request that are read. A browser on its way back sends far less."""

READ_TIMEOUT = 5.0
"""Seconds for a browser to say what it wants. One that opens a connection ahead of need may never say it."""

_PAGE = "<!doctype html><meta charset=utf-8><title>Bascule</title><p style='font:1.2em sans-serif;margin:4em'>{}</p>"
_CAME = "Bascule has got the answer. You can close this window and look at the terminal."
_STRAY = "This is not the login that Bascule waits for."


class Receiver:
    """Waits for one browser to come back with the `state` of one login. Whoever else knocks learns nothing."""

    def __init__(self) -> None:
        self.port = 0
        self.strays = 0
        """Visitors that came with something else."""
        self._state: str | None = None
        self._came: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def redirect_uri(self) -> str:
        return f"http://{HOST}:{self.port}{PATH}"

    async def returned_from(self, url: str) -> str:
        """The address to which the browser came back, after a person was sent to `url`."""
        self._state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        return await asyncio.shield(self._came)

    async def visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                head = await reader.readuntil(b"\r\n\r\n")
            target = self._accepted(head)
            writer.write(_reply("200 OK", _CAME) if target else _reply("404 Not Found", _STRAY))
            await writer.drain()
            if target and not self._came.done():
                self._came.set_result(f"http://{HOST}:{self.port}{target}")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, TimeoutError):
            pass
        finally:
            writer.close()

    def _accepted(self, head: bytes) -> str:
        """What was asked for, if it is the end of the login that is waited for."""
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target = rest.partition(" ")[0]
        try:
            parts = urlsplit(target)
        except ValueError:
            return ""
        if method != "GET" or parts.scheme or parts.netloc or parts.path != PATH:
            return ""
        given = parse_qs(parts.query).get("state", [""])
        known = self._state is not None and hmac.compare_digest(given[0].encode(), self._state.encode())
        if not known:
            self.strays += 1
        return target if known and len(given) == 1 and not self._came.done() else ""


@asynccontextmanager
async def receiver(port: int = 0) -> AsyncGenerator[Receiver]:
    """A receiver for the length of the block, on a port that is free unless one is asked for."""
    waiting = Receiver()
    try:
        server = await asyncio.start_server(waiting.visited, HOST, port, limit=LONGEST_HEAD)
    except OSError as error:
        raise UsageError(
            f"port {port} cannot be used to receive the browser", evidence=str(error), fix="leave --port out"
        ) from error
    waiting.port = server.sockets[0].getsockname()[1]
    try:
        yield waiting
    finally:
        server.close()


def _reply(status: str, text: str) -> bytes:
    body = _PAGE.format(text).encode()
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
        "Referrer-Policy: no-referrer",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
