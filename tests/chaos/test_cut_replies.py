"""Replies that break off after any number of bytes: the call ends as what it is, and the next one is fine."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from bascule.config import RuntimeConfig, Timeouts
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from chaos.wires import WIRES, Behind, Wire, behind_proxies
from support.faults import Cut, Reset
from support.runtime import settled
from support.waiting import fail_after

AT_ONCE = 8
"""Replies that break off side by side, each on a way of its own."""

TIMEOUT = 15.0
SLACK = 1.0
"""Seconds by which a call may miss its timeout on a busy machine."""

LIMITS = Timeouts(connect=TIMEOUT, reconnect=TIMEOUT, probe=TIMEOUT, list=TIMEOUT, call=TIMEOUT, close=1)

EXPECTED = {FailureKind.CONNECTION_ERROR, FailureKind.PROTOCOL_ERROR}
"""A connection that ends is seen to end, so that nobody has to wait for a timeout."""


class Cutter:
    """Breaks off replies on one way to the server, one after the other."""

    def __init__(self, wire: Wire, way: Behind, session: AgentSession, told: str) -> None:
        self._wire = wire
        self._way = way
        self._session = session
        self._told = told
        self.kinds = Counter[str]()
        self.slowest = 0.0

    async def run(self, kind: type[Cut | Reset], offsets: list[int]) -> None:
        await self._works("before anything")
        while offsets:
            await self._break_off(kind(offsets.pop()))

    async def _break_off(self, fault: Cut | Reset) -> None:
        told = f"{self._told}, {fault}"
        self._wire.lay(self._way.proxy, fault)
        started = asyncio.get_running_loop().time()
        outcome = await self._wire.call(self._session, self._way.config.name, TIMEOUT)
        took = asyncio.get_running_loop().time() - started
        self._way.proxy.heal()
        self.slowest = max(self.slowest, took)
        assert took < TIMEOUT + SLACK, f"{told}: {took:.2f} s"
        self._judge(outcome, told)
        # Where the reply was whole, the end of its connection may still be on its way to us.
        await settled()
        await self._works(told)

    def _judge(self, outcome: ToolResult | ToolFailure, told: str) -> None:
        if isinstance(outcome, ToolResult):
            assert self._wire.answers(outcome), f"{told}: {outcome}"
            self.kinds["result"] += 1
        else:
            assert outcome.kind in EXPECTED, f"{told}: {outcome}"
            self.kinds[outcome.kind] += 1

    async def _works(self, told: str) -> None:
        outcome = await self._wire.call(self._session, self._way.config.name, TIMEOUT)
        assert isinstance(outcome, ToolResult), f"{told}: the next call failed: {outcome}"
        assert self._wire.answers(outcome), f"{told}: {outcome}"


@pytest.mark.parametrize("kind", [Cut, Reset])
@pytest.mark.parametrize("wire", WIRES, ids=str)
@pytest.mark.long
async def test_a_reply_that_breaks_off_after_any_byte_fails_its_call_and_no_other(
    wire: Wire, kind: type[Cut | Reset], seed: int, scale: int, tell: Callable[[str], None]
):
    told = f"seed {seed}"
    # A tenth of them, another tenth with another seed.
    offsets = [offset for offset in range(wire.last) if scale > 1 or offset % 10 == seed % 10]
    count = len(offsets)
    async with (
        fail_after(60 * scale, f"the run with {told}"),
        behind_proxies(wire, AT_ONCE, LIMITS, seed) as ways,
        Runtime(RuntimeConfig({way.config.name: way.config for way in ways}, links_starting=AT_ONCE)) as runtime,
    ):
        session = runtime.session("alice", "s-1")
        cutters = [Cutter(wire, way, session, told) for way in ways]
        await asyncio.gather(*(cutter.run(kind, offsets) for cutter in cutters))
        struck = sum(len(way.proxy.struck) for way in ways)
    kinds = sum((cutter.kinds for cutter in cutters), Counter[str]())
    slowest = max(cutter.slowest for cutter in cutters)
    tell(f"{wire}, {kind.__name__}: {count} replies, {struck} broken off: {dict(kinds)}, slowest {slowest:.3f} s")
    assert kinds.total() == count, told
    assert struck, f"{told}: nothing broke off"
    # Over HTTP+SSE the reply to a POST that breaks off may come by the event stream all the same.
    assert kinds["result"] < count or str(wire) == "sse-post", f"{told}: nothing that broke off was noticed"
