"""What every transport promises a caller who stops waiting, in both eras: no work goes on that nobody waits for."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from bascule import AgentSession, Decline, Elicitation, Runtime, ToolFailure
from bascule.config import RuntimeConfig
from bascule.core.events import LinkChanged
from bascule.core.outcome import FailureKind
from contracts.harness import SDK_CELLS, SECOND_OPINIONS, Cell, Peer, peer_of
from support.runtime import Events, bad, good
from support.waiting import fail_after

pytestmark = pytest.mark.asyncio(loop_scope="module")

STEPS = 24
"""Steps of the loop after which a call is given up, one after the other: more than any transport needs to send one."""


class Table(Events):
    """A peer, an agent session that calls it, all that is told, and a person who takes for ever to answer."""

    def __init__(self, peer: Peer) -> None:
        super().__init__()
        self.peer = peer
        self.came = asyncio.Event()
        """Something was told, or asked."""
        self.asked: list[Elicitation] = []
        self.withdrawn: list[Elicitation] = []

    def append(self, event: object) -> None:
        super().append(event)
        self.came.set()

    async def elicit(self, question: Elicitation) -> Decline:
        self.asked.append(question)
        self.came.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.withdrawn.append(question)
            self.came.set()
        return Decline()

    async def until(self, what: str) -> None:
        """Wait for a link to be opened, a question to be `asked`, or it to be `withdrawn`."""
        async with fail_after(60, what):
            while not (getattr(self, what) if what != "connecting" else what in self.states()):
                self.came.clear()
                await self.came.wait()

    def states(self) -> list[str]:
        return [event.state for event in self if isinstance(event, LinkChanged)]

    def forget(self) -> None:
        self.clear()
        self.asked.clear()
        self.withdrawn.clear()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SDK_CELLS + SECOND_OPINIONS, ids=str)
async def table(request: pytest.FixtureRequest) -> AsyncGenerator[Table]:
    cell: Cell = request.param
    async with fail_after(300, "the contract"), peer_of(cell) as peer:
        yield Table(peer)


@pytest_asyncio.fixture(loop_scope="module")
async def session(table: Table) -> AsyncGenerator[AgentSession]:
    config = RuntimeConfig({"peer": table.peer.config})
    async with Runtime(config, sinks=[table.append], on_elicit=table.elicit) as runtime:
        made = runtime.session("alice", "s-1")
        await made.connect()
        table.forget()
        yield made


async def stop(calling: "asyncio.Task[object]") -> None:
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling


async def test_a_call_that_waits_for_its_link_is_given_up_unsent(table: Table, session: AgentSession):
    await session.close()
    table.forget()
    calling = asyncio.create_task(session.call("peer_mark", {"label": "never"}))
    await table.until("connecting")
    await stop(calling)

    assert list(bad(table.call.outcome, FailureKind.ABORTED).steps) == ["resolve", "validate", "decide"]
    good(await session.call("peer_mark", {"label": "afterwards"}))
    await table.peer.notes.until("marked afterwards")
    assert "marked never" not in table.peer.notes.notes


async def test_whenever_a_caller_stops_waiting_nothing_goes_on(table: Table, session: AgentSession):
    for steps in range(STEPS):
        calling = asyncio.create_task(session.call("peer_hang", {"label": f"step {steps}"}))
        for _ in range(steps):
            await asyncio.sleep(0)
        await stop(calling)
    good(await session.call("peer_echo", {"message": "still here"}))

    begun = [note.removeprefix("hanging ") for note in table.peer.notes.notes if note.startswith("hanging step")]
    await table.peer.notes.until(*(f"stopped {label}" for label in begun))
    failures = [event.outcome for event in table.calls if isinstance(event.outcome, ToolFailure)]
    assert {failure.kind for failure in failures} == {FailureKind.ABORTED}


async def test_a_call_for_which_a_person_is_asked_is_given_up_and_the_person_left_in_peace(
    table: Table, session: AgentSession
):
    """In the new era the server has answered, and waits for nothing; in the old one it asks in the middle of its work,
    and has to stop."""
    cell = table.peer.cell
    tool = "consult" if cell.era == "old" else "settle" if cell.maker == "sdk" else "ask"
    calling = asyncio.create_task(session.call(f"peer_{tool}", {} if tool == "ask" else {"label": "unasked"}))
    await table.until("asked")
    await stop(calling)

    bad(table.call.outcome, FailureKind.ABORTED)
    if cell.era == "old":
        await table.peer.notes.until("waiting unasked", "stopped unasked")
    await table.until("withdrawn")
    assert table.withdrawn == table.asked
    good(await session.call("peer_echo", {"message": "still here"}))
    assert not [note for note in table.peer.notes.notes if note.startswith("marked unasked")]
