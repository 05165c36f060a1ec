"""Races of a raise against calls: who calls on and on, and what is handed over to which lane at what instant."""

import asyncio
import random
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bascule.config import (
    Limits,
    RuntimeConfig,
    ServerConfig,
    StdioTransport,
    StreamableHttpTransport,
    Timeouts,
)
from bascule.config.model.transport import Transport
from bascule.core.outcome import Outcome, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane
from bascule.runtime.session import AgentSession
from bascule.sensitivity.lease import since_boot
from support.handed_over import HandedOver, counting_in

CALLERS = 10
"""Calls that race against one raise at any time. Each of them is a race of its own."""

TOOL = "work_echo"

PIPE = "a pipe"

TYPED = {"BSC-300", "BSC-408"}
"""How calls end that a raise overtakes: refused, because nothing was sent, or cut, because something was."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """One piece of bytes that has left our side."""

    at: float
    """Seconds since boot, which all processes of a machine share."""
    to: str
    """The port of a socket, or a pipe."""
    piece: bytes


class Lanes(HandedOver):
    """All that was handed over, each piece with its instant and its place. `open` is the place that has a way out."""

    def __init__(self, open_place: str) -> None:
        super().__init__()
        self.open = open_place
        self.hand_overs: list[HandOver] = []

    def note(self, piece: bytes | bytearray | memoryview, to: Any = None) -> None:
        peer = to.get_extra_info("peername") if to is not None else None
        place = str(peer[1]) if isinstance(peer, tuple) else PIPE
        self.hand_overs.append(HandOver(since_boot(), place, bytes(piece)))

    def opened_after(self, mark: int) -> list[HandOver]:
        """What the open lane got after so many pieces."""
        return [each for each in self.hand_overs[mark:] if each.to == self.open]

    def of(self, session_id: str, mark: int = 0) -> list[HandOver]:
        """What it got that names this agent session."""
        name = marker(session_id).encode()
        return [each for each in self.opened_after(mark) if name in each.piece]

    def times(self, session_id: str) -> int:
        """How often it got the name of this agent session: calls may leave together, in one piece."""
        name = marker(session_id).encode()
        return sum(each.piece.count(name) for each in self.opened_after(0))


@contextmanager
def watched(transport: Transport) -> Generator[Lanes]:
    """Watch for the length of the block, where this is the way to the open lane."""
    with counting_in(lanes := Lanes(place_of(transport)), memory=False):
        yield lanes


def place_of(transport: Transport) -> str:
    if isinstance(transport, StdioTransport):
        return PIPE
    assert isinstance(transport, StreamableHttpTransport)
    return transport.url.rpartition(":")[2].partition("/")[0]


def marker(session_id: str) -> str:
    """What every call of an agent session says, so that its bytes are known wherever they are."""
    return f"this is {session_id}."


def raced(transport: Transport, *, shared: bool = False, **settings: Any) -> RuntimeConfig:
    """A config with one server, which answers what it is given, and that says nothing by itself."""
    store = settings.pop("store", None)
    server = ServerConfig(
        "work",
        transport,
        lifetime="shared" if shared else "session",
        stateless=shared,
        timeouts=Timeouts(connect=60, reconnect=60, probe=30, list=30, call=60, close=2),
        limits=Limits(concurrent=None),
        **settings,
    )
    return RuntimeConfig({"work": server}, store=store)


async def calls_of(session: AgentSession, chance: random.Random) -> Counter[str]:
    """Call until the open lane is closed. How the calls have ended: the lane of a result, or the code of a failure."""
    ends: Counter[str] = Counter()
    arguments = {"message": marker(session.principal.session_id)}
    while True:
        end = end_of(await session.call(TOOL, arguments))
        ends[end] += 1
        if end not in {Lane.OPEN, "BSC-408"}:
            return ends
        if chance.random() < 0.5:
            await asyncio.sleep(chance.random() * 0.003)


def end_of(outcome: Outcome) -> str:
    if isinstance(outcome, ToolFailure):
        return outcome.code
    assert isinstance(outcome, ToolResult)
    return str(outcome.lane)


async def a_moment(chance: random.Random) -> None:
    """Some steps of the loop, or some milliseconds."""
    if chance.random() < 0.3:
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0)
    else:
        await asyncio.sleep(chance.random() * 0.006)
