"""What every transport promises of a raise, in both eras: from that step on nothing is handed over, what was under way ends
as cut, and what comes after is refused."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import pytest_asyncio

from bascule.config import Heartbeat, RuntimeConfig
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from contracts.harness import NATIVE_CELLS, SDK_CELLS, Cell, Peer, peer_of
from support.handed_over import handed_over
from support.racing import end_of
from support.runtime import good
from support.waiting import fail_after

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = DataSensitivity.SECRET

BEAT = Heartbeat(interval=0.05, stale_after=60)
"""So that a link has always something to say of its own."""

UNDER_WAY = 5


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SDK_CELLS + NATIVE_CELLS, ids=str)
async def peer(request: pytest.FixtureRequest) -> AsyncGenerator[Peer]:
    cell: Cell = request.param
    async with fail_after(300, "the contract"), peer_of(cell) as serving:
        yield serving


@asynccontextmanager
async def governed(peer: Peer, *, shared: bool) -> AsyncGenerator[Runtime]:
    lifetime = "shared" if shared else "session"
    server = replace(peer.config, lifetime=lifetime, stateless=shared, heartbeat=BEAT)
    async with fail_after(120, "the life of a runtime"), Runtime(RuntimeConfig({"peer": server})) as runtime:
        yield runtime


async def under_way(peer: Peer, session: AgentSession) -> "list[asyncio.Task[str]]":
    """Calls that the server works on and never answers."""

    async def hang(label: str) -> str:
        return end_of(await session.call("peer_hang", {"label": label}))

    name = session.principal.session_id
    calls = [asyncio.create_task(hang(f"{name} {number}")) for number in range(UNDER_WAY)]
    for number in range(UNDER_WAY):
        await peer.notes.until(f"hanging {name} {number}")
    return calls


async def test_a_raise_cuts_what_is_under_way_and_hands_nothing_over(peer: Peer):
    async with governed(peer, shared=False) as runtime:
        session = runtime.session("alice", f"own {peer.cell}")
        assert good(await session.call("peer_echo", {"message": "hi"})).lane is Lane.OPEN
        calls = await under_way(peer, session)
        with handed_over() as counted:
            await session.add_private_dataset("salaries", SECRET)
            assert await asyncio.gather(*calls) == ["BSC-408"] * UNDER_WAY
            assert end_of(await session.call("peer_mark", {"label": f"private {peer.cell}"})) == "BSC-300"
            # Time enough for a heartbeat, had the link stayed.
            await asyncio.sleep(4 * BEAT.interval)
            assert counted.pieces == []
    assert f"marked private {peer.cell}" not in peer.notes.notes
    assert session.receipts[-1].closed == ("peer (open)",)


async def test_on_a_shared_link_a_raise_cuts_only_what_is_private(peer: Peer):
    async with governed(peer, shared=True) as runtime:
        alice, bob = runtime.session("alice", f"shared {peer.cell}"), runtime.session("bob", f"shared {peer.cell}")
        assert good(await alice.call("peer_echo", {"message": "hi"})).lane is Lane.OPEN
        hers = await under_way(peer, alice)
        meeting = {"name": f"shared {peer.cell}", "size": 2}
        his = asyncio.create_task(bob.call("peer_meet", {**meeting, "place": 0}))
        await alice.add_private_dataset("salaries", SECRET)
        with handed_over() as counted:
            assert await asyncio.gather(*hers) == ["BSC-408"] * UNDER_WAY
            assert end_of(await alice.call("peer_mark", {"label": f"private {peer.cell}"})) == "BSC-300"
            assert good(await bob.call("peer_meet", {**meeting, "place": 1})).lane is Lane.OPEN
            assert good(await his).lane is Lane.OPEN
            assert not any(b"private" in piece for piece in counted.pieces)
    assert f"marked private {peer.cell}" not in peer.notes.notes
