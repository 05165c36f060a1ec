"""Links to stand-in servers, and what became of them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.transports.dispatcher import Dispatcher
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link, LinkPlan
from bascule.upstream.settings import Terms
from bascule.upstream.start_limiter import StartGate
from support.servers import stdio
from support.waiting import fail_after

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-2")
TERMS = Terms(
    era="auto",
    connect=15.0,
    reconnect=15.0,
    probe=10.0,
    close=1.0,
    interval=30.0,
    stale_after=90.0,
    attempts=5,
    backoff=2.0,
    lifetime="session",
)
"""Long enough for a slow machine; tests of a limit shorten that one."""

Dial = Callable[[], Dispatcher]
Admit = Callable[[Link], Awaitable[str]]


def a_key(server: str = "server", lane: Lane = Lane.OPEN, principal: Principal = ALICE) -> LinkKey:
    return LinkKey(server, lane, principal)


async def admit_all(_: Link) -> str:
    return ""


def a_plan(dial: Dial, key: LinkKey | None = None, admit: Admit = admit_all, **terms: Any) -> LinkPlan:
    return LinkPlan(key or a_key(), msgspec.structs.replace(TERMS, **terms), dial, admit)


@dataclass
class Journal:
    """The states a link went through."""

    states: list[str] = field(default_factory=list[str])
    reasons: list[str] = field(default_factory=list[str])

    def note(self, link: Link) -> None:
        self.states.append(str(link.condition.state))
        self.reasons.append(link.condition.reason)


def a_link(plan: LinkPlan, journal: Journal | None = None) -> Link:
    return Link(plan, StartGate(4), plan.terms.era, (journal or Journal()).note)


@asynccontextmanager
async def linked(name: str, *args: object, admit: Admit = admit_all, **terms: Any) -> AsyncGenerator[Link]:
    """A link to a stand-in for the length of the block, which must not hang. Whether it opens is the block's affair."""
    async with fail_after(20, "the life of a link"):
        link = a_link(a_plan(lambda: stdio(name, *args), admit=admit, **terms))
        link.start()
        try:
            yield link
        finally:
            await link.close()
