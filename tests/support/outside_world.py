"""Things that listen on this machine, on its loopback and its own address alone, and count who comes."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import psutil


@dataclass(slots=True)
class World:
    """Where everything listens, and who has come."""

    targets: dict[str, Any]
    came: list[str] = field(default_factory=list[str])


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, world: World) -> None:
        self._world = world

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._world.came.append(f"datagram from {addr}")
        self._transport.sendto(data, addr)


def own_address() -> str:
    """This machine's address on some network, or its loopback where it has none."""
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.family == socket.AF_INET and not each.address.startswith("127."):
                return each.address
    return "127.0.0.1"


def begun() -> int:
    """When this process began, as the kernel counts."""
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])


@asynccontextmanager
async def world(folder: Path) -> AsyncGenerator[World]:
    own = own_address()
    secret = folder / "secret"
    secret.write_text("hunter2-hunter2")
    made = World(
        {
            "gateway": own,
            "pid": os.getpid(),
            "begun": begun(),
            "abstract": f"bascule-{os.getpid()}",
            "path": str(folder / "sock"),
            "secret": str(secret),
        }
    )

    async def came(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.came.append(f"connection from {writer.get_extra_info('peername')}")
        writer.close()

    loop = asyncio.get_running_loop()
    servers: list[asyncio.Server] = []
    datagrams: list[asyncio.BaseTransport] = []
    try:
        for name, address in (("tcp4", "127.0.0.1"), ("tcp6", "::1"), ("own tcp", own)):
            servers.append(await asyncio.start_server(came, address, 0))
            made.targets[name] = [address, servers[-1].sockets[0].getsockname()[1]]
        servers.append(await asyncio.start_unix_server(came, f"\0{made.targets['abstract']}"))
        servers.append(await asyncio.start_unix_server(came, made.targets["path"]))
        for name, address in (("udp4", "127.0.0.1"), ("udp6", "::1"), ("own udp", own)):
            transport, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(made), local_addr=(address, 0))
            datagrams.append(transport)
            made.targets[name] = [address, transport.get_extra_info("sockname")[1]]
        yield made
    finally:
        for server in servers:
            server.close()
        for transport in datagrams:
            transport.close()
