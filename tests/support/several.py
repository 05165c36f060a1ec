"""Several gateways on one store, in one process: each with its runtime, its sockets and its clients."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bascule import Runtime
from bascule.config import ServerConfig
from bascule.config.model.gateway import GatewaySettings
from bascule.config.state_dir import state_folder
from bascule.gateway.app import Gateway
from bascule.gateway.cluster.address import listen_within
from bascule.gateway.cluster.peers import Neighbours
from bascule.gateway.cluster.tls import InnerTls
from bascule.gateway.node.serve import Orders, Several, Sockets
from bascule.gateway.serve import Door
from support.kit_http import AUTH
from support.ports import free_port
from support.runtime import Events, running
from support.waiting import fail_after


@dataclass(frozen=True)
class Member:
    """One of them."""

    port: int
    runtime: Runtime
    events: Events
    orders: Orders
    serving: "asyncio.Task[None]"

    async def stop(self) -> None:
        self.orders.stop()
        await asyncio.shield(self.serving)


@asynccontextmanager
async def member(
    *servers: ServerConfig,
    folder: Path | None = None,
    url: str = "",
    tls: InnerTls | None = None,
    furnish: Callable[[Gateway, Neighbours], None] | None = None,
) -> AsyncGenerator[Member]:
    """One that believes the tokens of `bearer`. Those with one `folder` are on one machine."""
    events, ready = Events(), asyncio.get_running_loop().create_future()
    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(running(*servers, events=events, within=120))
        clients = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = clients.getsockname()[1]
        within = stack.enter_context(listen_within(url)) if url else None
        several = Several(runtime, Door(GatewaySettings(auth=AUTH)), folder or state_folder(os.environ))
        several.furnish = furnish
        serving = asyncio.create_task(several.serve(Sockets(clients, within, url, tls), ready.set_result))
        stack.push_async_callback(_ended, serving)
        async with fail_after(20, "a gateway"):
            await asyncio.wait((ready, serving), return_when=asyncio.FIRST_COMPLETED)
        orders = (await ready) if ready.done() else None
        if orders is None:
            await serving
        assert orders is not None
        stack.callback(orders.stop)
        yield Member(port, runtime, events, orders, serving)


async def _ended(serving: "asyncio.Task[None]") -> None:
    async with fail_after(30, "the end of a gateway"):
        await serving


def a_url() -> str:
    return f"http://127.0.0.1:{free_port()}"
