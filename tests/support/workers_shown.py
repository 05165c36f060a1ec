"""Two workers' dashboards in one process, which ask each other without a wire between them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from bascule.config import ServerConfig
from bascule.dashboard.cluster.peers import Answers, Others
from bascule.dashboard.cluster.views import AllDeeds, AllViews
from bascule.dashboard.views.interface import views_of
from bascule.gateway.cluster.peers import Silent
from bascule.store.owners import Member
from support.watched import Watched, watched


@dataclass
class Wireless:
    """Those who can be asked, by their ids."""

    answers: dict[str, Answers] = field(default_factory=dict[str, Answers])
    silent: set[str] = field(default_factory=set[str])
    asked: int = 0

    def others(self) -> tuple[Member, ...]:
        return tuple(Member(id_, "") for id_ in self.answers)

    async def ask(self, member: Member, question: bytes, limit: float) -> bytes:
        self.asked += 1
        if member.id in self.silent or member.id not in self.answers:
            raise Silent("it says nothing")
        try:
            async with asyncio.timeout(limit):
                return await self.answers[member.id](question)
        except ValueError as error:
            raise Silent(str(error)) from error


@dataclass
class Pair:
    """One that is looked at, and the other one."""

    one: Watched
    two: Watched
    wire: Wireless
    others: Others
    views: AllViews
    deeds: AllDeeds


@asynccontextmanager
async def pair(*servers: ServerConfig) -> AsyncGenerator[Pair]:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(watched(*servers)) for _ in range(2)]
        wire = Wireless()
        theirs = views_of(two.runtime, two.feed, "worker 2")
        wire.answers["two"] = Answers(theirs, two.deeds, two.runtime.oversight.look_again)
        others = Others(wire)
        ours = views_of(one.runtime, one.feed, "worker 1")
        yield Pair(one, two, wire, others, AllViews(ours, others), AllDeeds(one.deeds, others))
