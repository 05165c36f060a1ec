"""Gateways in front of stand-in servers, asked over real connections."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bascule import Runtime
from bascule.config import AuthSettings, ServerConfig
from bascule.config.model.gateway import GatewaySettings
from bascule.core.principal import Principal
from bascule.gateway.app import Gateway
from bascule.gateway.serve import Door, gateway_of, serve
from support.kit_http import AUTH, NEW, OLD, PREFIX, Answered, Line, line_to
from support.runtime import Events, running

ALICE = Principal("alice", "s-1")

META = {f"{PREFIX}/protocolVersion": NEW, f"{PREFIX}/clientCapabilities": {}}
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass(frozen=True)
class Served:
    """A gateway while it runs. Whoever asks without a token is Alice, unless it believes tokens."""

    port: int
    runtime: Runtime
    app: Gateway


@asynccontextmanager
async def serving(
    *servers: ServerConfig, auth: AuthSettings | None = None, events: Events | None = None, **config: Any
) -> AsyncGenerator[Served]:
    """Without `auth`, everyone on this machine is Alice."""
    settings = GatewaySettings(auth=auth or AuthSettings())
    door = Door(settings, None, ALICE if auth is None else None)
    async with running(*servers, events=events, for_clients=True, **config) as runtime:
        app = gateway_of(runtime, door)
        # In the loop of the runtime, as it is everywhere: nothing of a runtime may be used from another thread.
        with socket.create_server(("127.0.0.1", 0)) as listening:
            stop: asyncio.Future[Callable[[], None]] = asyncio.get_running_loop().create_future()
            server = asyncio.ensure_future(serve(app, listening, stop.set_result))
            try:
                yield Served(listening.getsockname()[1], runtime, app)
            finally:
                (await stop)()
                await server


async def ask(
    line: Line, method: str, params: dict[str, Any] | None = None, *, new: bool = True, **headers: str | None
) -> Answered:
    """One request, as a client of either era makes it. Headers are given with `_` for `-`."""
    spoken: dict[str, str | None] = {}
    given = dict(params or {})
    if new:
        spoken = {"MCP-Protocol-Version": NEW, "Mcp-Method": method}
        if method in NAMED_BY:
            spoken["Mcp-Name"] = str(given.get(NAMED_BY[method]))
        given["_meta"] = {**META, **given.get("_meta", {})}
    spoken |= {name.replace("_", "-"): value for name, value in headers.items()}
    return await line.post(method, given, spoken)


async def introduced(line: Line, version: str = OLD, **headers: str | None) -> str:
    """Begin a session of the old era. Gives its id."""
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    answer = await ask(line, "initialize", client, new=False, **headers)
    assert answer.status == 200, answer
    return answer.headers["mcp-session-id"]


__all__ = ["ALICE", "AUTH", "META", "Served", "ask", "introduced", "line_to", "serving"]
