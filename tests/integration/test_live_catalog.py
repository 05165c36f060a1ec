"""Servers on old releases of the official SDK change their tools while they run, over every transport those have."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Literal

import pytest

from bascule import AgentSession, Runtime
from bascule.config import (
    ServerConfig,
    SseTransport,
    StdioTransport,
    StreamableHttpTransport,
    Timeouts,
    WebSocketTransport,
)
from bascule.config.model.transport import Transport
from bascule.core.outcome import FailureKind
from contracts.harness import TIMEOUTS
from support.live import until
from support.peers import SDK_VERSIONS, old_sdk, vintage
from support.runtime import bad, good
from support.servers import SERVERS
from support.waiting import fail_after

PATIENT = replace(TIMEOUTS, probe=Timeouts().probe)
"""The oldest say nothing when they are asked for their era: to wait longer than anybody does would bring nothing else."""

Carried = Literal["stdio", "sse", "ws", "streamable-http"]
OLDEST, NEWEST = SDK_VERSIONS[0], SDK_VERSIONS[-1]
PEERS: list[tuple[str, Carried]] = [
    (OLDEST, "stdio"),
    (OLDEST, "sse"),
    (OLDEST, "ws"),
    (NEWEST, "stdio"),
    (NEWEST, "sse"),
    (NEWEST, "ws"),
    (NEWEST, "streamable-http"),
]


@asynccontextmanager
async def peer(version: str, carried: Carried) -> AsyncGenerator[Transport]:
    if carried == "stdio":
        yield StdioTransport(str(old_sdk(version)), (str(SERVERS / "vintage.py"), "stdio"))
        return
    async with vintage(version, carried) as port:
        match carried:
            case "sse":
                yield SseTransport(f"http://127.0.0.1:{port}/sse")
            case "ws":
                yield WebSocketTransport(f"ws://127.0.0.1:{port}/ws")
            case _:
                yield StreamableHttpTransport(f"http://127.0.0.1:{port}/mcp")


async def names(session: AgentSession) -> set[str]:
    return {spec.name for spec in await session.tools()}


@pytest.mark.parametrize(("version", "carried"), PEERS)
@pytest.mark.long
async def test_a_server_on_an_old_sdk_is_followed(version: str, carried: Carried):
    async with peer(version, carried) as transport:
        server = ServerConfig("peer", transport, timeouts=PATIENT)
        async with fail_after(90, "the life of a runtime"), Runtime.from_servers({"peer": server}) as runtime:
            session = runtime.session("alice", "s-1")
            assert await names(session) == {"peer_add", "peer_turn_into"}
            good(await session.call("peer_turn_into", {"tool": "frog"}))
            await until(lambda: names(session), lambda shown: "peer_frog" in shown)
            assert "I am frog" in good(await session.call("peer_frog")).text
            good(await session.call("peer_turn_into", {"tool": "frogs"}))
            await until(lambda: names(session), lambda shown: "peer_frogs" in shown)
            removed = bad(await session.call("peer_frog"), FailureKind.UNKNOWN_TOOL)

    assert removed.message.startswith("'peer_frog' was removed by its server, peer; did you mean peer_frogs")
