"""A server on strings, in this process: a test says when it refuses, answers slowly, falls silent or dies."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bascule.core.errors import ConnectFailed, ConnectionLost
from bascule.transports.jsonrpc import MessageDispatcher

NEW = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete", "ttlMs": 0}
OLD = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "it", "version": "1"}}


@dataclass
class Strings:
    """What holds for all connections to one server."""

    era: str = "new"
    up: bool = True
    """Whether it can be connected to."""
    connecting: float = 0.0
    """Seconds until it can."""
    delay: float = 0.0
    """Seconds until it answers a call. It does one thing at a time."""
    ending: float = 0.0
    """Seconds that closing a connection takes."""
    asked: list[str] = field(default_factory=list[str])
    """Methods, as they came."""
    connections: "list[Puppet]" = field(default_factory=list["Puppet"])
    most: int = 0
    """Connections that were there at once, at most."""

    @property
    def living(self) -> "list[Puppet]":
        return [one for one in self.connections if not one.finished]

    def dial(self) -> "Puppet":
        return Puppet(self)


class Puppet(MessageDispatcher):
    """One connection to it. The protocol is the real one, only the wire is not."""

    kind = "puppet"

    def __init__(self, strings: Strings) -> None:
        super().__init__(100_000)
        self.strings = strings
        self.goes_on = asyncio.Event()
        """Cleared while it is stopped, as by a signal."""
        self.goes_on.set()
        self.finished = False
        self._heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._working: asyncio.Task[None] | None = None
        strings.connections.append(self)
        strings.most = max(strings.most, len(strings.living))

    async def open(self) -> None:
        await asyncio.sleep(self.strings.connecting)
        if not self.strings.up:
            raise ConnectFailed("it is down")
        self._working = asyncio.get_running_loop().create_task(self._work())
        self.connect_output(self._write)

    async def close(self, grace: float) -> None:
        self.lose(ConnectionLost("the link was closed"))
        if self._working is not None:
            self._working.cancel()
        await asyncio.sleep(min(self.strings.ending, grace))
        self.finished = True

    def evidence(self) -> str:
        return ""

    def die(self) -> None:
        self.lose(ConnectionLost("it died"))

    def _write(self, data: bytes) -> None:
        for line in data.splitlines():
            self._heard.put_nowait(msgspec.json.decode(line))

    async def _work(self) -> None:
        while True:
            message = await self._heard.get()
            await self.goes_on.wait()
            self.strings.asked.append(message["method"])
            if message["method"] == "tools/call":
                await asyncio.sleep(self.strings.delay)
            if "id" in message:
                self.take((msgspec.json.encode({"jsonrpc": "2.0", "id": message["id"], **self._reply_to(message)}),))

    def _reply_to(self, message: dict[str, Any]) -> dict[str, Any]:
        method, new = message["method"], self.strings.era == "new"
        unknown = {"error": {"code": -32601, "message": "what?"}}
        if method == "server/discover":
            return {"result": NEW} if new else unknown
        if method == "initialize":
            return unknown if new else {"result": OLD}
        if method == "ping":
            return unknown if new else {"result": {}}
        return {"result": {"content": []}}
