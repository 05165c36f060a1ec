"""Servers of our kit over HTTP, asked by hand: no client would send half of what is sent here."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from bascule.config import AuthSettings, SharedSecret
from support.http_servers import asgi_server
from support.tokens import AUDIENCE, ISSUER, SECRET, claims, token
from support.waiting import fail_after

NEW = "2026-07-28"
OLD = "2025-11-25"
PREFIX = "io.modelcontextprotocol"

AUTH = AuthSettings(keys=(SharedSecret("HS256", SECRET),), issuer=ISSUER, audience=AUDIENCE)
"""Believes the tokens of `bearer`."""


def bearer(user: str, session: str = "s-1", **changes: Any) -> str:
    """The header of who has a good token, unless a claim is changed."""
    now = time.time()
    body = claims(**{"sub": user, "session_id": session, "iat": now, "exp": now + 600, **changes})
    return f"Bearer {token(body, algorithm='HS256')}"


@dataclass(frozen=True)
class Answered:
    """An answer over HTTP. Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Any:
        """What it says in the protocol, as JSON or as the last event of a stream."""
        text = self.body.decode()
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
        return json.loads(text)

    @property
    def text(self) -> str:
        return self.message["result"]["content"][0]["text"]


class Line:
    """One connection. Its requests go one after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self._reader = reader
        self._writer = writer
        self.host = f"127.0.0.1:{port}"

    async def send(
        self, body: bytes = b"", headers: Mapping[str, str | None] | None = None, *, ask: str = "POST /mcp HTTP/1.1"
    ) -> Answered:
        """Headers that are None are not sent."""
        usual = {"Host": self.host, "Content-Type": "application/json", "Content-Length": str(len(body))}
        given = {name: value for name, value in {**usual, **(headers or {})}.items() if value is not None}
        head = "\r\n".join([ask, *(f"{name}: {value}" for name, value in given.items()), "", ""])
        self._writer.write(head.encode("latin-1") + body)
        async with fail_after(30, "an answer"):
            return await self._answer()

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        path: str = "/mcp",
    ) -> Answered:
        """A call of the new era."""
        meta = {f"{PREFIX}/protocolVersion": NEW, f"{PREFIX}/clientCapabilities": {}}
        params = {"name": tool, "arguments": dict(arguments or {}), "_meta": meta}
        spoken = {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call", "Mcp-Name": tool}
        return await self.post("tools/call", params, {**spoken, **(headers or {})}, path=path)

    async def post(
        self,
        method: str,
        params: Any,
        headers: Mapping[str, str | None],
        *,
        number: int | None = 1,
        path: str = "/mcp",
    ) -> Answered:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if number is None else {"id": number})}
        accept = {"Accept": "application/json, text/event-stream"}
        return await self.send(json.dumps(message).encode(), {**accept, **headers}, ask=f"POST {path} HTTP/1.1")

    async def _answer(self) -> Answered:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("transfer-encoding") == "chunked":
            body = await self._chunks()
        else:
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return Answered(int(first.split(" ")[1]), headers, body)

    async def _chunks(self) -> bytes:
        body = bytearray()
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            body += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return bytes(body)


@asynccontextmanager
async def line_to(port: int) -> AsyncGenerator[Line]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Line(reader, writer, port)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def listening(app: Any) -> AsyncGenerator[int]:
    """An app by a real uvicorn. Gives its port."""
    async with asgi_server(app) as origin:
        yield int(origin.rpartition(":")[2])


async def asked(port: int, tool: str, arguments: Mapping[str, Any] | None = None, **headers: str | None) -> Answered:
    """One call, on a connection of its own. Header names are given with underscores."""
    async with line_to(port) as line:
        return await line.call(tool, arguments, {name.replace("_", "-"): value for name, value in headers.items()})


class OldSession:
    """A session of the old era on one connection, as somebody has begun it, here or on another one."""

    _numbers = count(1)

    def __init__(self, line: Line, session_id: str = "") -> None:
        self.line = line
        self.id = session_id

    async def begin(self, authorization: str | None) -> None:
        params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = await self.post("initialize", params, authorization)
        self.id = answer.headers["mcp-session-id"]
        await self.post("notifications/initialized", {}, authorization)

    async def call(self, tool: str, authorization: str | None) -> Answered:
        return await self.post("tools/call", {"name": tool, "arguments": {}}, authorization)

    async def post(self, method: str, params: Any, authorization: str | None) -> Answered:
        headers = {"Authorization": authorization, "Mcp-Session-Id": self.id or None, "MCP-Protocol-Version": OLD}
        number = None if method.startswith("notifications/") else next(self._numbers)
        return await self.line.post(method, params, headers, number=number)
