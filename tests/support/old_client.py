"""A client of the old era by hand, that is asked things on the streams of its requests and answers as a test wants."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from itertools import count
from typing import Any

import aiohttp

from support.kit_http import OLD

EVERYTHING = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


class OldClient:
    """One session. Messages come from its streams one by one."""

    def __init__(self, http: aiohttp.ClientSession, port: int, headers: dict[str, str]) -> None:
        self._http = http
        self._url = f"http://127.0.0.1:{port}/mcp"
        self._numbers = count(1)
        self.headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": OLD, **headers}

    async def begin(self, capabilities: dict[str, Any]) -> None:
        params = {"protocolVersion": OLD, "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}
        async with self._http.post(self._url, json=self._request("initialize", params), headers=self.headers) as reply:
            assert reply.status == 200
            self.headers["Mcp-Session-Id"] = reply.headers["Mcp-Session-Id"]

    @asynccontextmanager
    async def call(self, tool: str, **arguments: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """The messages that come before the result, and that. Leaving hangs up."""
        body = self._request("tools/call", {"name": tool, "arguments": arguments})
        async with self._http.post(self._url, json=body, headers=self.headers) as reply:
            yield self._messages(reply)
            reply.close()

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[AsyncIterator[Any]]:
        """The messages that come on the stream of its own."""
        async with self._http.get(self._url, headers=self.headers) as reply:
            yield self._messages(reply)
            reply.close()

    async def answer(self, question: Any, result: Any = None, **other: Any) -> int:
        """The HTTP status of an answer to a question."""
        message = {"jsonrpc": "2.0", "id": question["id"], **(other or {"result": result})}
        return await self.post(message)

    async def post(self, message: Any) -> int:
        body, kind = BytesIO(json.dumps(message).encode()), {"Content-Type": "application/json"}
        async with self._http.post(self._url, data=body, headers={**self.headers, **kind}) as reply:
            return reply.status

    def _request(self, method: str, params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params}

    async def _messages(self, reply: aiohttp.ClientResponse) -> AsyncIterator[Any]:
        if reply.content_type == "application/json":
            yield await reply.json()
            return
        async for line in reply.content:
            if line.startswith(b"data:"):
                yield json.loads(line[5:])


@asynccontextmanager
async def old_client(
    port: int, capabilities: dict[str, Any] | None = None, **headers: str
) -> AsyncGenerator[OldClient]:
    """One that has introduced itself, and offers everything unless told otherwise."""
    async with aiohttp.ClientSession(read_bufsize=1 << 24) as http:
        client = OldClient(http, port, headers)
        await client.begin(EVERYTHING if capabilities is None else capabilities)
        yield client
