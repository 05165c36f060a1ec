"""What every transport promises about a server that changes while it runs, in both eras: one body for all of them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from bascule.config import RuntimeConfig
from bascule.core.events import CatalogChanged
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers import refresh
from bascule.runtime.session import AgentSession
from contracts.harness import SDK_CELLS, SECOND_OPINIONS, Cell, Peer, peer_of
from support.live import until
from support.runtime import Events
from support.waiting import fail_after

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def patch() -> AsyncGenerator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as made:
        yield made


@dataclass(frozen=True)
class Table:
    """A peer, and two agent sessions that were open before anything changed. One changes it, the other looks on."""

    peer: Peer
    session: AgentSession
    other: AgentSession
    events: Events

    async def change(self, tool: str, /, **arguments: Any) -> None:
        async with fail_after(60, f"a call of {tool}"):
            outcome = await self.session.call(f"peer_{tool}", arguments)
        assert isinstance(outcome, ToolResult), outcome

    async def until(self, session: AgentSession, holds: Callable[[dict[str, str]], bool]) -> None:
        """Look at a session's tools, each with its description, until this holds of them."""

        async def look() -> dict[str, str]:
            return {spec.name: spec.description for spec in await session.tools()}

        await until(look, holds, "the catalog following its server")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SDK_CELLS + SECOND_OPINIONS, ids=str)
async def table(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch
) -> AsyncGenerator[Table]:
    """Both makers say that their lists hold for no time at all. What the SDK tells must do without that; FastMCP, which
    tells nothing, is asked at every look."""
    cell: Cell = request.param
    store = str(tmp_path_factory.mktemp("contract") / "store.db")
    events = Events()
    async with fail_after(300, "the contract"), peer_of(cell) as peer:
        patch.setattr(refresh, "SHORTEST_TTL", 3600.0 if cell.maker == "sdk" else 0.1)
        config = RuntimeConfig({"peer": peer.config}, store=store)
        async with Runtime(config, sinks=[events.append]) as runtime:
            session = runtime.session("alice", "s-1")
            # A process serves one link, so it has but one agent session to tell.
            alone = cell.transport in {"stdio", "docker exec"}
            other = session if alone else runtime.session("bob", "s-2")
            await asyncio.gather(session.connect(), other.connect())
            yield Table(peer, session, other, events)


def said(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolResult), outcome
    return outcome.raw["content"][0]["text"]


def failure(outcome: Outcome) -> ToolFailure:
    assert isinstance(outcome, ToolFailure), outcome
    return outcome


async def test_a_tool_appears_changes_vanishes_and_comes_back_while_the_server_runs(table: Table):
    session = table.session
    never = failure(await session.call("peer_sing"))
    assert "removed" not in never.message

    await table.change("learn", tool="sing", text="la")
    await table.until(session, lambda tools: "peer_sing" in tools)
    assert said(await session.call("peer_sing")) == "la"

    await table.change("learn", tool="sing", text="do re mi")
    await table.until(session, lambda tools: tools["peer_sing"] == "Says do re mi.")
    assert said(await session.call("peer_sing")) == "do re mi"

    await table.change("learn", tool="song", text="a song")
    await table.change("forget", tool="sing")
    await table.until(session, lambda tools: "peer_sing" not in tools and "peer_song" in tools)
    gone = failure(await session.call("peer_sing"))
    assert (gone.kind, gone.code) == (FailureKind.UNKNOWN_TOOL, "BSC-201")
    assert gone.message.startswith("'peer_sing' was removed by its server, peer; did you mean peer_song")

    await table.change("learn", tool="sing", text="again")
    await table.until(session, lambda tools: "peer_sing" in tools)
    assert said(await session.call("peer_sing")) == "again"
    told = [event for event in table.events if isinstance(event, CatalogChanged) and event.kind == "tools"]
    assert any("sing" in event.removed for event in told)
    assert any("sing" in event.added for event in told[1:])


async def test_everybody_whose_agent_session_is_open_sees_the_change(table: Table):
    if table.peer.cell.era == "old" and table.other is not table.session:
        return  # in the old era the SDK tells the one connection on which the change was made
    await table.change("learn", tool="dance", text="one two three")
    await table.until(table.other, lambda tools: "peer_dance" in tools)
    assert said(await table.other.call("peer_dance")) == "one two three"
    await table.change("forget", tool="dance")
    await table.until(table.other, lambda tools: "peer_dance" not in tools)
    assert "was removed" in failure(await table.other.call("peer_dance")).message


async def test_a_call_in_flight_is_not_disturbed_by_a_change(table: Table):
    meeting = [
        asyncio.create_task(table.session.call("peer_meet", {"name": "live", "place": place, "size": 3}))
        for place in range(2)
    ]
    await table.change("learn", tool="wave", text="hello")
    await table.until(table.session, lambda tools: "peer_wave" in tools)
    assert not any(call.done() for call in meeting)
    async with fail_after(60, "the meeting"):
        last = await table.session.call("peer_meet", {"name": "live", "place": 2, "size": 3})
        met = [said(outcome) for outcome in (*await asyncio.gather(*meeting), last)]
    assert met == ["live 0", "live 1", "live 2"]


async def test_new_resources_are_found_without_asking_for_a_fresh_list(table: Table):
    if table.peer.cell.maker == "fastmcp":
        return  # it tells nothing of resources in the new era
    await table.session.resources()
    await table.change("add_note", day="friday")

    async def look() -> set[str]:
        return {spec.address for spec in await table.session.resources()}

    await until(look, lambda shown: "notes://new/friday" in shown, "the shelf following its server")
