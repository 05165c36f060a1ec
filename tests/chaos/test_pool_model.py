"""The pool and its links against what they promise, whatever happens in whatever order, on a clock that jumps."""

import asyncio
import os
from collections.abc import Coroutine
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bascule.core.errors import BasculeError, ConnectFailed, ConnectionLost, PoolTimeout, ReplyTimeout
from bascule.core.request import Request
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link, LinkPlan
from bascule.upstream.pool import Pool
from support.links import ALICE, BOB, a_key, a_plan
from support.puppets import Strings
from support.virtual_time import VirtualLoop

MOST = 3
CALL = 20.0
TERMS: dict[str, Any] = {
    "connect": 30.0,
    "reconnect": 15.0,
    "probe": 3.0,
    "close": 5.0,
    "interval": 10.0,
    "stale_after": 30.0,
    "attempts": 3,
    "backoff": 1.0,
}
LONGEST = 15.0 + 30.0 + 3.0 + CALL
"""Seconds a caller may wait: for a place, for the opening, for the reply."""

STEPS = {
    "": {"connecting", "closed"},
    "connecting": {"ready", "degraded", "failed", "closed"},
    "ready": {"failed", "closed"},
    "degraded": {"failed", "closed"},
    "failed": set[str](),
    "closed": set[str](),
}
"""Which state of a link may follow which."""

KEYS = [a_key(server, principal=who) for server in ("a", "b", "once") for who in (ALICE, BOB)]
TYPED = (ConnectFailed, ConnectionLost, PoolTimeout, ReplyTimeout)


class Caller:
    """One call, and how it ended."""

    def __init__(self, pool: Pool, key: LinkKey) -> None:
        self.began = asyncio.get_running_loop().time()
        self.ended: float | None = None
        self.error: BaseException | None = None
        self.key = key
        self._pool = pool
        self.task = asyncio.get_running_loop().create_task(self._call())

    async def _call(self) -> None:
        try:
            link = self._pool.borrow(self.key) or await self._pool.lease(self.key)
            try:
                assert link.key == self.key
                assert link.usable, "a broken link was lent"
                await link.send(Request("tools/call", {"name": "act"}, CALL))
            finally:
                self._pool.give_back(link)
        except (BasculeError, AssertionError, asyncio.CancelledError) as error:
            self.error = error
        finally:
            self.ended = asyncio.get_running_loop().time()


class PoolModel(RuleBasedStateMachine):
    """Calls come and are given up; servers go down, die, stop and go on; keys are closed; time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.servers = {name: Strings() for name in ("a", "b", "once")}
        self.servers["b"].era = "old"
        self.servers["a"].ending = 2.0
        self.states: dict[int, str] = {}
        self.links: list[Link] = []
        self.wrong: list[str] = []
        self.callers: list[Caller] = []
        self.pool: Pool = self.do(self._make())

    async def _make(self) -> Pool:
        return Pool(self._plan, self._note, most=MOST, starting=2, chance=lambda: 0.5)

    def _plan(self, key: LinkKey) -> LinkPlan:
        lifetime = "call" if key.server == "once" else "session"
        return a_plan(self.servers[key.server].dial, key, **TERMS, lifetime=lifetime)

    def _note(self, link: Link) -> None:
        if id(link) not in self.states:
            self.links.append(link)
        before, now = self.states.get(id(link), ""), str(link.condition.state)
        if now not in STEPS[before]:
            self.wrong.append(f"{before} → {now}")
        self.states[id(link)] = now

    def do(self, body: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(body)

    @rule(key=st.sampled_from(KEYS), count=st.integers(1, 8))
    def call(self, key: LinkKey, count: int) -> None:
        async def start() -> None:
            self.callers += [Caller(self.pool, key) for _ in range(count)]
            await asyncio.sleep(0)

        self.do(start())

    @precondition(lambda self: self.callers)
    @rule(which=st.integers(0, 1000))
    def give_up(self, which: int) -> None:
        self.callers[which % len(self.callers)].task.cancel()

    @rule(seconds=st.sampled_from([0.0, 0.1, 1.0, 7.0, 45.0, 300.0]))
    def wait(self, seconds: float) -> None:
        self.do(asyncio.sleep(seconds))

    @rule(name=st.sampled_from(["a", "b", "once"]), up=st.booleans(), slow=st.sampled_from([0.0, 5.0, 40.0]))
    def change(self, name: str, up: bool, slow: float) -> None:
        server = self.servers[name]
        server.up, server.connecting = up, slow / 10
        server.delay = slow

    @rule(name=st.sampled_from(["a", "b", "once"]), how=st.sampled_from(["die", "stop", "go on"]))
    def strike(self, name: str, how: str) -> None:
        async def act() -> None:
            for puppet in self.servers[name].living:
                if how == "die":
                    puppet.die()
                elif how == "stop":
                    puppet.goes_on.clear()
                else:
                    puppet.goes_on.set()

        self.do(act())

    @rule(key=st.sampled_from(KEYS))
    def close_one(self, key: LinkKey) -> None:
        self.do(self.pool.close([key]))

    @invariant()
    def never_too_many_are_open(self) -> None:
        assert sum(len(server.living) for server in self.servers.values()) <= MOST
        assert all(server.most <= MOST for server in self.servers.values())

    @invariant()
    def every_link_went_through_its_states_in_order(self) -> None:
        assert not self.wrong

    @invariant()
    def every_call_ends_typed_and_in_time(self) -> None:
        now = self.loop.time()
        for caller in self.callers:
            waited = (caller.ended if caller.ended is not None else now) - caller.began
            assert waited <= LONGEST + 1, f"{caller.key} waited {waited}"
            if caller.error is not None:
                assert isinstance(caller.error, (*TYPED, asyncio.CancelledError)), repr(caller.error)
                assert not isinstance(caller.error, BasculeError) or caller.error.message

    def teardown(self) -> None:
        try:
            self.heal()
        finally:
            self.do(self.pool.close())
            self.do(asyncio.sleep(10))
            assert not any(server.living for server in self.servers.values())
            assert not asyncio.all_tasks(self.loop)
            assert not self.pool._places
            assert not self.pool._held
            self.loop.close()

    def heal(self) -> None:
        """Whatever happened, once all is well again everyone is served."""
        for server in self.servers.values():
            server.up, server.connecting, server.delay = True, 0.0, 0.0
            for puppet in server.living:
                puppet.goes_on.set()
        self.do(asyncio.sleep(LONGEST + 60))
        assert all(caller.ended is not None for caller in self.callers)
        assert not any(place.users for place in self.pool._ledger.places), "a place is lost"
        # More at once than there may be links: all the same, each has its turn.
        last = self.do(self._all_call())
        assert [caller.error for caller in last] == [None] * len(last)

    async def _all_call(self) -> list[Caller]:
        callers = [Caller(self.pool, key) for key in KEYS for _ in range(3)]
        await asyncio.wait([caller.task for caller in callers])
        return callers


EXAMPLES = 2000 if os.environ.get("BASCULE_SOAK") else 100

PoolModel.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=30, deadline=None)
TestPool = PoolModel.TestCase
