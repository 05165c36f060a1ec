"""Serving of one gateway of a cluster: its clients, its internal endpoint, and the drain in which it gives its agent
sessions away."""

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from bascule.gateway.app import Gateway
from bascule.gateway.cluster.address import socket_in
from bascule.gateway.cluster.forward import Relay
from bascule.gateway.cluster.forward_token import Passes
from bascule.gateway.cluster.membership import INTERVAL, Membership
from bascule.gateway.cluster.peers import Neighbours
from bascule.gateway.cluster.routing import Routing
from bascule.gateway.cluster.tls import InnerTls
from bascule.gateway.http.server import FAREWELL, WebServer
from bascule.gateway.mcp.sessions import SessionSeal
from bascule.gateway.node.internal_endpoint import InnerDoor
from bascule.gateway.serve import Door, gateway_of
from bascule.runtime.runtime import Runtime

LINGER = 2 * INTERVAL
"""Seconds after which everybody else has heard that we leave, and sends us nothing more."""


class Sockets(msgspec.Struct, frozen=True):
    """At which others find this process."""

    clients: socket.socket
    within: socket.socket | None = None
    """For gateways on other machines, if they can reach this one."""
    url: str = ""
    """By which these know it."""
    tls: InnerTls | None = None
    """What is spoken with them, where that is an https one."""


class Orders(msgspec.Struct, frozen=True):
    """How to end, for whoever decides that."""

    retire: Callable[[], None]
    """Others who listen at the same socket go on."""
    stop: Callable[[], None]


class Several:
    """One of several gateways on one store, around a runtime that runs."""

    def __init__(self, runtime: Runtime, door: Door, folder: Path) -> None:
        self._runtime = runtime
        self._door = door
        self._folder = folder
        self._leaving: asyncio.Task[None] | None = None
        self.furnish: Callable[[Gateway, Neighbours], None] | None = None
        """Told the app before it serves, and who is beside it, for whoever puts something beside its endpoint."""

    async def serve(self, sockets: Sockets, on_ready: Callable[[Orders], None]) -> None:
        """Until it is told to stop. When `on_ready` is called, clients are being served."""
        beside, own = socket_in(self._folder, sockets.url)
        with beside:
            try:
                membership = Membership(self._runtime.owners, str(own), self._runtime.let_go)
                relay = Relay(membership, own, None if sockets.tls is None else sockets.tls.asking)
                try:
                    await self._serve(sockets, beside, (membership, relay), on_ready)
                finally:
                    await relay.close()
            finally:
                own.remove()

    async def _serve(
        self,
        sockets: Sockets,
        beside: socket.socket,
        ways: tuple[Membership, Relay],
        on_ready: Callable[[Orders], None],
    ) -> None:
        membership, relay = ways
        secret = await self._runtime.owners.secret()
        passes = Passes(secret, time.time)
        app = gateway_of(self._runtime, self._door, seal=SessionSeal(secret, time.time))
        app.routing = Routing(membership, relay, passes, app.intake)
        neighbours = Neighbours(membership, relay, secret, time.time)
        if self.furnish is not None:
            self.furnish(app, neighbours)
        readiness = app.readiness
        clients = WebServer(app, readiness)
        door = InnerDoor(app, membership, passes, relay, app.intake)
        door.neighbours = neighbours
        within = WebServer(door, readiness)

        def leave() -> None:
            app.streams.close()
            if self._leaving is None:
                self._leaving = asyncio.ensure_future(membership.retire())

        def retire() -> None:
            leave()
            clients.retire()

        def stop() -> None:
            leave()
            clients.stop()

        def started() -> None:
            readiness.begin()
            on_ready(Orders(retire, stop))

        heard = asyncio.ensure_future(_hear(within, beside, sockets))
        try:
            await membership.open()
            try:
                await clients.serve(sockets.clients, on_started=started)
                leave()
                await self._last(membership)
            finally:
                await membership.close()
        finally:
            within.stop()
            await asyncio.wait((heard,))
            await app.close()
        heard.result()

    async def _last(self, membership: Membership) -> None:
        """Others may still ask for what was ours, until all of them know that it is not."""
        assert self._leaving is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await self._leaving
                await membership.given_away()
        if not await membership.is_alone():
            await asyncio.sleep(LINGER)


async def _hear(door: WebServer, beside: socket.socket, sockets: Sockets) -> None:
    """Serve those whom other gateways send, by whichever way."""
    if sockets.within is None:
        await door.serve(beside)
    elif sockets.tls is None:
        await door.serve(beside, sockets.within)
    else:
        await door.serve(beside, secured=(sockets.within, sockets.tls.listening))
