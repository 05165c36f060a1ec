"""A program that calls on and on for one agent session after another: `-m chaos.racer ORDERS HAND_OVERS`.

ORDERS is a file that says which store, and how the server is reached. What it is to do next it reads from its stdin: a name
is an agent session to call for, and what follows it the seconds after which to stop itself, by a signal, in a step of the
loop. It says when calls are under way, and how they have ended. At the end of its stdin it writes down, for each time
that something was handed over to the open lane, the instant and whom it names.
"""

import asyncio
import os
import random
import re
import signal
import sys
from collections import Counter
from pathlib import Path

import msgspec

from bascule.config import StdioTransport, StreamableHttpTransport
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from support.racing import CALLERS, Lanes, calls_of, marker, raced, watched

NAMED = re.compile(rb"this is ([a-z0-9-]+)\.")


class Orders(msgspec.Struct):
    """How to take part."""

    store: str | None
    url: str
    """Empty: `command` is the server."""
    command: list[str]
    shared: bool
    seed: int

    @property
    def transport(self) -> StdioTransport | StreamableHttpTransport:
        if self.url:
            return StreamableHttpTransport(self.url)
        return StdioTransport(self.command[0], tuple(self.command[1:]))


def say(message: object) -> None:
    print(msgspec.json.encode(message).decode(), flush=True)


def stop_yourself() -> None:
    """In a step of its own: not between the last look at a lease and the write, which no process can be kept from."""
    os.kill(os.getpid(), signal.SIGSTOP)


async def take_part(session: AgentSession, chance: random.Random, stop: float | None) -> None:
    await session.connect()
    callers = [asyncio.create_task(calls_of(session, chance)) for _ in range(CALLERS)]
    say({"calling": session.principal.session_id})
    if stop is not None:
        asyncio.get_running_loop().call_later(stop, stop_yourself)
    say(sum(await asyncio.gather(*callers), Counter[str]()))


async def main(orders: Orders, written: Path) -> None:
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    chance = random.Random(orders.seed)
    transport = orders.transport
    with watched(transport) as lanes:
        async with Runtime(raced(transport, shared=orders.shared, store=orders.store)) as runtime:
            say({"ready": os.getpid()})
            while line := await lines.readline():
                name, *stop = line.decode().split()
                await take_part(runtime.session("alice", name), chance, float(stop[0]) if stop else None)
    written.write_bytes(msgspec.json.encode(summary(lanes)))


def summary(lanes: Lanes) -> list[tuple[float, list[str]]]:
    return [(each.at, sorted({name.decode() for name in NAMED.findall(each.piece)})) for each in lanes.opened_after(0)]


if __name__ == "__main__":
    assert NAMED.search(marker("s-1").encode())
    asyncio.run(main(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Orders), Path(sys.argv[2])))
