"""What every transport promises about calls, in both eras: one body for all of them."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from bascule.config import RuntimeConfig
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from bascule.upstream.state import LinkState
from contracts.harness import NATIVE_CELLS, SDK_CELLS, SECOND_OPINIONS, VERSIONS, Cell, Peer, peer_of
from support.waiting import fail_after

pytestmark = pytest.mark.asyncio(loop_scope="module")

AWKWARD = "ä 𝄞 \x00 \x1b[31m \r \u0085 \u2028 \u202e \U000e0041 'quoted\" \\"
"""Characters that end lines for some, mean something to terminals, or need escaping."""

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True)
class Table:
    """A peer, and the agent session that calls it."""

    peer: Peer
    session: AgentSession

    async def call(self, tool: str, timeout: float | None = None, /, **arguments: Any) -> Outcome:
        async with fail_after(60, f"a call of {tool}"):
            return await self.session.call(f"peer_{tool}", arguments, timeout=timeout)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SDK_CELLS + SECOND_OPINIONS + NATIVE_CELLS, ids=str)
async def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Table]:
    """One link for the whole contract: what one test leaves behind must not disturb the next."""
    cell: Cell = request.param
    store = str(tmp_path_factory.mktemp("contract") / "store.db")
    async with peer_of(cell) as peer, Runtime(RuntimeConfig({"peer": peer.config}, store=store)) as runtime:
        session = runtime.session("alice", "s-1")
        await session.connect()
        yield Table(peer, session)


def text_of(outcome: Outcome) -> str:
    assert isinstance(outcome, ToolResult), outcome
    return outcome.raw["content"][0]["text"]


def failure(outcome: Outcome) -> ToolFailure:
    assert isinstance(outcome, ToolFailure), outcome
    return outcome


async def test_the_tools_are_listed_and_called(table: Table):
    names = {tool.name for tool in await table.session.tools()}
    report = table.session.servers()[0]
    assert {"peer_echo", "peer_fail", "peer_count"} <= names
    assert (report.state, report.version) == (LinkState.READY, VERSIONS[table.peer.cell.era])
    assert text_of(await table.call("echo", message="hi")) == "hi"


async def test_awkward_characters_arrive_as_they_were_sent(table: Table):
    assert text_of(await table.call("echo", message=AWKWARD)) == AWKWARD


async def test_calls_answered_in_another_order_are_matched(table: Table):
    async with fail_after(60, "the meeting"):
        outcomes = await asyncio.gather(
            *(table.call("meet", name="round", place=place, size=12) for place in range(12))
        )
    assert [text_of(outcome) for outcome in outcomes] == [f"round {place}" for place in range(12)]


async def test_sixty_four_calls_at_once_are_matched(table: Table):
    outcomes = await asyncio.gather(*(table.call("echo", message=f"number {n}") for n in range(64)))
    assert [text_of(outcome) for outcome in outcomes] == [f"number {n}" for n in range(64)]


async def test_a_result_of_a_mebibyte_arrives_whole(table: Table):
    text = text_of(await table.call("repeat", text="0123456789abcdeé", times=MEBIBYTE // 16))
    assert len(text) == MEBIBYTE
    assert text == "0123456789abcdeé" * (MEBIBYTE // 16)


async def test_arguments_of_a_mebibyte_arrive_whole(table: Table):
    message = "0123456789abcdeé" * (MEBIBYTE // 16)
    assert text_of(await table.call("echo", message=message)) == message


async def test_an_error_of_the_tool_is_a_tool_error_in_its_words(table: Table):
    failed = failure(await table.call("fail", why="the shelf is empty"))
    assert failed.kind is FailureKind.TOOL_ERROR
    assert "the shelf is empty" in failed.message
    assert failed.tool_code is None


async def test_an_error_of_the_protocol_keeps_its_code_and_data(table: Table):
    if table.peer.cell.transport == "native":
        # A function has errors of its own, and none of the protocol.
        assert failure(await table.call("refuse")).kind is FailureKind.UNKNOWN_TOOL
        return
    failed = failure(await table.call("refuse", code=-32099, message="not today", data={"why": ["rain", {"mm": 12}]}))
    assert (failed.code, failed.message) == ("BSC-405", "not today")
    assert failed.tool_code == -32099
    assert failed.cause == {"why": ["rain", {"mm": 12}]}


async def test_progress_arrives_in_order_and_before_the_result(table: Table):
    seen: list[tuple[float, float | None, str | None]] = []

    async def slowly(*progress: Any) -> None:
        for _ in range(10):
            await asyncio.sleep(0)
        seen.append(progress)

    async with fail_after(60, "the counting"):
        outcome = await table.session.call("peer_count", {"to": 20}, on_progress=slowly)
        told = [*seen]
    assert text_of(outcome) == "counted to 20"
    # A value that nobody has taken yet gives way to a newer one, so some may be missing, but never the last.
    assert told[-1] == (20, 20, "at 20")
    assert [progress for progress, _, _ in told] == sorted({progress for progress, _, _ in told})


async def test_no_progress_comes_after_the_result(table: Table):
    seen: list[float] = []
    await table.session.call("peer_count", {"to": 20}, on_progress=lambda progress, *_: seen.append(progress))
    counted = len(seen)
    assert text_of(await table.call("echo", message="after")) == "after"
    assert len(seen) == counted


async def test_a_timeout_names_its_phase_and_the_next_call_works(table: Table):
    failed = failure(await table.call("hang", 0.2, label="late"))
    assert failed.kind is FailureKind.TIMEOUT
    assert "tools/call" in failed.message
    assert "0.2 s" in failed.message
    assert "timeouts.call" in failed.fix
    assert text_of(await table.call("echo", message="still here")) == "still here"


async def test_a_server_is_told_that_a_call_has_timed_out(table: Table):
    assert failure(await table.call("hang", 0.2, label="forgotten")).kind is FailureKind.TIMEOUT
    await table.peer.notes.until("hanging forgotten", "stopped forgotten")


async def test_cancelling_the_caller_reaches_the_server_and_is_no_failure(table: Table):
    calling = asyncio.create_task(table.call("hang", label="unwanted"))
    await table.peer.notes.until("hanging unwanted")
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await table.peer.notes.until("stopped unwanted")
    assert text_of(await table.call("echo", message="still here")) == "still here"


async def test_cancelling_a_call_that_has_told_of_progress_reaches_the_server(table: Table):
    begun = asyncio.Event()
    calling = asyncio.create_task(
        table.session.call("peer_stall", {"label": "begun"}, on_progress=lambda *_: begun.set())
    )
    async with fail_after(60, "the beginning"):
        await begun.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await table.peer.notes.until("stopped begun")


async def test_cancelling_one_call_leaves_the_others_alone(table: Table):
    unwanted = asyncio.create_task(table.call("hang", label="one"))
    wanted = [asyncio.create_task(table.call("meet", name="others", place=place, size=3)) for place in (0, 1)]
    await table.peer.notes.until("hanging one")
    unwanted.cancel()
    await table.peer.notes.until("stopped one")
    last = await table.call("meet", name="others", place=2, size=3)
    assert [text_of(outcome) for outcome in [*await asyncio.gather(*wanted), last]] == [
        f"others {place}" for place in range(3)
    ]
    await asyncio.wait((unwanted,))
    assert unwanted.cancelled()


async def test_nothing_strayed(table: Table):
    link = next(iter(table.session._roster.links.links()))
    await table.call("echo", message="last")
    assert link.usable
    assert link.counters.garbage == 0
