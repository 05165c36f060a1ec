"""Host firewall of an open sandbox: rejects connections to the host's own addresses. A second, short-lived container
with NET_ADMIN adds the routes before the server runs, and the server has no right to remove them."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path

from bascule.core.errors import SandboxError
from bascule.core.json_types import JsonObject, as_object
from bascule.sandbox.docker.api import Engine
from bascule.sandbox.docker.attach import Listening, listening_to
from bascule.sandbox.docker.container_spec import bind
from bascule.sandbox.docker.remove import remove_container
from bascule.sandbox.spec.box import INSIDE, Mount

PROGRAM = f"{INSIDE}/firewall.py"

SHUT = "bascule: the way to the machine is shut"
"""What the program says when it is done."""

SHUT_WITHIN = 60.0
"""Seconds for the second container. It takes a third of one."""

ADDRESSES = Path("/proc/net/fib_trie")


@dataclass(frozen=True, slots=True)
class Shutter:
    """What the second container of a box is made of."""

    python: tuple[str, ...]
    body: JsonObject


def shutter(body: JsonObject, image: str, python: tuple[str, ...], mounts: Iterable[Mount]) -> Shutter:
    """One that is in the bounds of the box and has the one right that it needs. Its image is ours, and its mounts are
    what our Python needs: nothing that is anybody else's comes near that right."""
    host = as_object(body["HostConfig"])
    kept = ("ReadonlyRootfs", "SecurityOpt", "IpcMode", "PidsLimit", "Memory", "MemorySwap", "LogConfig", "UsernsMode")
    rights = {"CapDrop": ["ALL"], "CapAdd": ["NET_ADMIN"], "Mounts": [bind(mount) for mount in mounts]}
    config = {**{name: host[name] for name in kept if name in host}, **rights}
    asked: JsonObject = {"Image": image, "User": "0:0", "Cmd": [], "Labels": body["Labels"], "HostConfig": config}
    return Shutter(python, asked)


async def shut(engine: Engine, container: str, shutter: Shutter) -> None:
    """Returns when it is done. Raises `SandboxError`, or `ConnectFailed` of the engine."""
    told = as_object(await engine.find(f"/containers/{container}/json"))
    argv = [*shutter.python, "-I", "-S", PROGRAM, *sorted({*gateways(told), *own_addresses()})]
    host = {**as_object(shutter.body["HostConfig"]), "NetworkMode": f"container:{container}"}
    said = await _beside(engine, {**shutter.body, "Entrypoint": argv, "HostConfig": host})
    if SHUT not in said:
        raise SandboxError(
            "the way from an open box to this machine could not be shut",
            where="box",
            evidence=said,
            cause="the container engine does not give the right to change routes (NET_ADMIN) to a container of ours",
            fix="allow it, or use `engine: bubblewrap`",
        )


async def _beside(engine: Engine, body: JsonObject) -> str:
    made = await engine.ask("POST", "/containers/create", body, within=SHUT_WITHIN)
    second = str(made.get("Id", ""))
    try:
        async with listening_to(engine, f"/containers/{second}/attach?stream=1&stdout=1&stderr=1") as ear:
            await engine.ask("POST", f"/containers/{second}/start", within=SHUT_WITHIN)
            return await _heard(ear)
    finally:
        await asyncio.shield(remove_container(engine, second))


async def _heard(ear: Listening) -> str:
    with suppress(TimeoutError):
        async with asyncio.timeout(SHUT_WITHIN):
            await ear.to_the_end()
    return ear.text


def gateways(told: JsonObject) -> Iterator[str]:
    """By which addresses of the machine a container reaches all else."""
    networks = as_object(as_object(told.get("NetworkSettings")).get("Networks"))
    for network in networks.values():
        with suppress(AddressValueError):
            yield str(IPv4Address(str(as_object(network).get("Gateway", ""))))


def own_addresses() -> list[str]:
    """The addresses of this machine, its loopback's aside."""
    try:
        return addresses_in(ADDRESSES.read_text())
    except OSError:
        return []


def addresses_in(trie: str) -> list[str]:
    """What the kernel tells of where packets go: an address of the machine's own stands before `/32 host LOCAL`."""
    found, last = set[str](), ""
    for line in trie.splitlines():
        words = line.split()
        if words[:1] == ["|--"]:
            last = words[1]
        elif words == ["/32", "host", "LOCAL"] and not IPv4Address(last).is_loopback:
            found.add(last)
    return sorted(found)
