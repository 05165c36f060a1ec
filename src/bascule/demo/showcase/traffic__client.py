"""The least an MCP client over HTTP has to be: one request, one answer, in the era that needs no handshake."""

from collections.abc import Mapping
from typing import Any

import aiohttp

from bascule.core.json_types import JsonObject, as_object
from bascule.wire.request_meta import CAPABILITIES_KEY, CLIENT_INFO_KEY, NEW_VERSIONS, VERSION_KEY

VERSION = NEW_VERSIONS[-1]


class Client:
    """Asks at one address, as whoever its `Authorization` header says."""

    def __init__(self, line: aiohttp.ClientSession, url: str, authorization: str, name: str) -> None:
        self._line = line
        self._url = url
        self._authorization = authorization
        self._meta = {
            VERSION_KEY: VERSION,
            CLIENT_INFO_KEY: {"name": name, "version": "1"},
            CAPABILITIES_KEY: {},
        }
        self._count = 0

    async def call(self, tool: str, arguments: Mapping[str, Any], patience: float) -> JsonObject:
        """The result of a call, or the error it was answered with. Raises `TimeoutError` and `aiohttp.ClientError`."""
        self._count += 1
        params = {"name": tool, "arguments": {**arguments}, "_meta": self._meta}
        body = {"jsonrpc": "2.0", "id": self._count, "method": "tools/call", "params": params}
        headers = {
            "Authorization": self._authorization,
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }
        limit = aiohttp.ClientTimeout(total=patience)
        async with self._line.post(self._url, json=body, headers=headers, timeout=limit) as answer:
            message = as_object(await answer.json(content_type=None))
        return as_object(message.get("result") or message.get("error"))
