"""What a failed call leaves on our side: nothing, and nothing of others is lost with it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from mcp.server import MCPServer

from bascule import AgentSession, Runtime, ToolRetryError, tool
from bascule.config import InProcessTransport, ServerConfig, Timeouts
from bascule.core.errors import WorkspaceError
from bascule.core.events import CallUndone
from bascule.core.outcome import FailureKind
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity
from bascule.core.undo.transaction import Ending, Remote
from bascule.workspace import Workspace, current_workspace
from support.runtime import Arrived, Events, at_work, bad, good, obeying
from support.waiting import fail_after, until

Act = Callable[["Kept", str, str], Awaitable[None]]
REFUSES = {"error": {"code": -32000, "message": "no"}}


async def no_more(_kept: "Kept", _name: str, _value: str) -> None:
    """Nothing happens beside what the tool changes."""


def files() -> Workspace:
    """Workspace of the call that runs."""
    workspace = current_workspace()
    assert workspace is not None
    return workspace


class Kept:
    """What an agent session keeps under names: in its state, or in files of its workspace."""

    def __init__(self, session: AgentSession, kind: str) -> None:
        self._session, self._kind = session, kind

    def __setitem__(self, name: str, value: str) -> None:
        if self._kind == "state":
            self._session.state[name] = value
        else:
            self._session.workspace.write_text(f"/workspace/{name}.txt", value)

    @property
    def now(self) -> dict[str, str]:
        if self._kind == "state":
            return dict(self._session.state)
        files = self._session.workspace
        found: dict[str, str] = {}
        for entry in files.list():
            # It may be undone between these two looks.
            with suppress(WorkspaceError):
                found[entry.name.removesuffix(".txt")] = files.read_text(entry.name)
        return found


@pytest.fixture(params=["state", "files"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@asynccontextmanager
async def writing(
    events: Events, kind: str, act: Act = no_more, **config: object
) -> AsyncGenerator[tuple[AgentSession, Kept]]:
    """A server in this process with a tool that keeps something in the agent session, and then does something."""
    server = MCPServer("work", log_level="CRITICAL")
    sessions: list[tuple[AgentSession, Kept]] = []

    @server.tool()
    async def write(name: str, value: str) -> str:  # pyright: ignore[reportUnusedFunction] -- the server has it
        sessions[0][1][name] = value
        await act(sessions[0][1], name, value)
        return "written"

    timeouts = Timeouts(connect=15, list=10, call=10, close=1)
    here = ServerConfig("work", InProcessTransport(server), **{"timeouts": timeouts, **config})  # pyright: ignore[reportArgumentType]
    async with fail_after(20), Runtime.from_servers({"work": here}, sinks=[events.append]) as runtime:
        session = runtime.session("alice", "s-1")
        sessions.append((session, Kept(session, kind)))
        yield sessions[0]


async def fail_if_told(_kept: Kept, _name: str, value: str) -> None:
    if value == "bad":
        raise ValueError("I do not like that")


@pytest.mark.requirement("EXE-5")
async def test_what_a_failing_tool_has_changed_is_undone_and_its_effect_at_the_server_is_unknown(
    events: Events, kind: str
):
    async with writing(events, kind, fail_if_told) as (session, kept):
        good(await session.call("work_write", {"name": "note", "value": "good"}))
        bad(await session.call("work_write", {"name": "note", "value": "bad"}), FailureKind.TOOL_ERROR)
        bad(await session.call("work_write", {"name": "other", "value": "bad"}), FailureKind.TOOL_ERROR)

        assert kept.now == {"note": "good"}
    first, second, third = events.calls
    assert (first.local, first.remote) == (Ending.KEPT, Remote.DONE)
    assert {(event.local, event.remote) for event in (second, third)} == {(Ending.RESTORED, Remote.UNKNOWN)}


@pytest.mark.requirement("EXE-5")
async def test_a_call_that_goes_well_beside_a_failing_one_keeps_what_it_changed(events: Events, kind: str):
    both, other = asyncio.Event(), asyncio.Event()

    async def in_turn(kept: Kept, name: str, value: str) -> None:
        if value == "bad":
            kept["shared"] = "bad"
            both.set()
            await other.wait()
            raise ValueError("no")
        await both.wait()
        kept["shared"] = "good"

    async with writing(events, kind, in_turn) as (session, kept):
        failing = asyncio.create_task(session.call("work_write", {"name": "a", "value": "bad"}))
        good(await session.call("work_write", {"name": "b", "value": "good"}))
        other.set()
        bad(await failing, FailureKind.TOOL_ERROR)

        assert kept.now == {"b": "good", "shared": "good"}


@pytest.mark.requirement("EXE-5")
async def test_a_call_that_writes_on_after_another_failed_in_the_same_file_keeps_all_it_wrote(events: Events):
    """Both have the file open; the failing call changes it last, and is undone while the other one is at work."""
    opened, undone = asyncio.Event(), asyncio.Event()

    @tool("write")
    async def append() -> str:
        with files().open("log", "a") as log:
            log.write("first, ")
            log.flush()
            opened.set()
            await undone.wait()
            log.write("second")
        return "done"

    @tool("write")
    async def fail() -> str:
        with files().open("log", "a") as log:
            log.write("not wanted")
        raise ToolRetryError("no")

    async with fail_after(20), Runtime.from_servers({"work": [append, fail]}, sinks=[events.append]) as runtime:
        session = runtime.session("alice", "s-1")
        session.workspace.write_text("log", "begun, ")
        appending = asyncio.create_task(session.call("work_append"))
        await opened.wait()
        bad(await session.call("work_fail"), FailureKind.TOOL_ERROR)
        assert session.workspace.read_text("log") == "begun, first, "
        undone.set()
        good(await appending)

        assert session.workspace.read_text("log") == "begun, first, second"
    assert [event.local for event in events.calls] == [Ending.RESTORED, Ending.KEPT]


@pytest.mark.requirement("EXE-5")
async def test_a_call_whose_writes_are_lost_is_not_reported_as_kept(events: Events):
    opened, over = asyncio.Event(), asyncio.Event()

    @tool("write")
    async def append() -> str:
        with files().open("log", "a") as log:
            opened.set()
            await over.wait()
            log.write("into a file without a name")
        return "done"

    @tool("write")
    async def replace() -> str:
        files().write_text("log", "new")
        return "done"

    async with fail_after(20), Runtime.from_servers({"work": [append, replace]}, sinks=[events.append]) as runtime:
        session = runtime.session("alice", "s-1")
        session.workspace.write_text("log", "old")
        appending = asyncio.create_task(session.call("work_append"))
        await opened.wait()
        good(await session.call("work_replace"))
        over.set()
        bad(await appending, FailureKind.TOOL_ERROR)

        assert session.workspace.read_text("log") == "new"
    assert [event.local for event in events.calls] == [Ending.KEPT, Ending.RESTORED]


@pytest.mark.requirement("EXE-5")
async def test_after_a_timeout_nothing_is_undone_while_the_server_may_still_write(events: Events, kind: str):
    late = asyncio.Event()

    async def linger(kept: Kept, name: str, value: str) -> None:
        while not late.is_set():
            try:
                await late.wait()
            except asyncio.CancelledError:
                # A server need not do as it is told.
                continue
        kept["late"] = value

    async with writing(events, kind, linger) as (session, kept):
        outcome = await session.call("work_write", {"name": "note", "value": "x"}, timeout=0.3)
        bad(outcome, FailureKind.TIMEOUT)
        assert kept.now == {"note": "x"}
        assert (events.call.local, events.call.remote) == (Ending.WAITING, Remote.UNKNOWN)

        late.set()
        await until(lambda: "late" in kept.now)
        await session.close()
        await until(lambda: not kept.now)
    (undone,) = [event for event in events if isinstance(event, CallUndone)]
    assert (undone.tool, undone.local, undone.problems) == ("work_write", Ending.RESTORED, ())


@pytest.mark.requirement("EXE-5")
async def test_what_a_caller_gave_up_on_is_undone_too(events: Events, kind: str):
    written = asyncio.Event()

    async def stay(_kept: Kept, _name: str, _value: str) -> None:
        written.set()
        await asyncio.Event().wait()

    async with writing(events, kind, stay) as (session, kept):
        waiting = asyncio.create_task(session.call("work_write", {"name": "note", "value": "x"}))
        await written.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert events.call.local is Ending.WAITING
        await session.close()
        await until(lambda: not kept.now)


@pytest.mark.requirement("EXE-5")
async def test_the_level_is_never_undone(events: Events, kind: str):
    async with writing(events, kind, fail_if_told, raises={"write": DataSensitivity.INTERNAL}) as (session, kept):
        bad(await session.call("work_write", {"name": "note", "value": "bad"}), FailureKind.TOOL_ERROR)

        assert (kept.now, session.sensitivity) == ({}, DataSensitivity.INTERNAL)


@pytest.mark.requirement("EXE-5")
async def test_what_a_callback_of_the_call_changes_is_a_part_of_it(tmp_path: Path, events: Events):
    async with at_work(obeying(tmp_path / "log"), events=events) as session:

        def note(progress: float, _total: float | None, _message: str | None) -> None:
            session.state["progress"] = progress

        bad(await session.call("work_act", {"progress": [1], **REFUSES}, on_progress=note), FailureKind.TOOL_ERROR)

        assert (events.call.local, dict(session.state)) == (Ending.RESTORED, {})


class Ledger:
    """A participant of a program's own: adds a line for each call, and takes it out again."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self) -> "Ledger":
        self.lines.append("begun")
        return self

    def commit(self) -> None:
        self.lines.append("kept")

    def rollback(self) -> None:
        self.lines.append("undone")


@pytest.mark.requirement("EXE-5")
async def test_a_program_can_take_part(events: Events, kind: str):
    ledger = Ledger()
    async with writing(events, kind, fail_if_told) as (session, _):
        session.take_part(ledger)
        good(await session.call("work_write", {"name": "note", "value": "good"}))
        bad(await session.call("work_write", {"name": "note", "value": "bad"}), FailureKind.TOOL_ERROR)
        bad(await session.call("work_write", {"name": "note"}), FailureKind.INVALID_ARGUMENTS)

    assert ledger.lines == ["begun", "kept", "begun", "undone"]


class Broken(Ledger):
    """One that cannot."""

    def begin(self) -> "Broken":
        raise ZeroDivisionError

    def rollback(self) -> None:
        raise ZeroDivisionError


@pytest.mark.requirement("EXE-5")
async def test_a_participant_that_cannot_begin_keeps_the_call_from_being_sent(events: Events, kind: str):
    async with writing(events, kind) as (session, kept):
        session.take_part(Broken())
        failure = bad(await session.call("work_write", {"name": "note", "value": "x"}), FailureKind.INVALID_ARGUMENTS)

        assert "ZeroDivisionError" in failure.message
        assert (kept.now, events.call.remote) == ({}, Remote.NONE)


@pytest.mark.requirement("EXE-5")
async def test_one_that_cannot_undo_is_told_and_the_rest_is_undone(events: Events, kind: str):
    class Late(Broken):
        def begin(self) -> "Late":
            return self

    async with writing(events, kind, fail_if_told) as (session, kept):
        session.take_part(Late())
        bad(await session.call("work_write", {"name": "note", "value": "bad"}), FailureKind.TOOL_ERROR)

        assert kept.now == {}
    assert (events.call.local, events.call.findings) == (Ending.FAILED, ("a participant raised ZeroDivisionError",))


@pytest.mark.requirement("EXE-5")
async def test_a_tool_that_only_reads_has_no_effect_at_its_server(tmp_path: Path, events: Events):
    reads = {"act": frozenset({Permission.READ})}
    async with at_work(obeying(tmp_path / "log", permissions=reads), events=events) as session:
        good(await session.call("work_act"))
        bad(await session.call("work_act", REFUSES), FailureKind.TOOL_ERROR)

    assert [event.remote for event in events.calls] == [Remote.NONE, Remote.NONE]


@pytest.mark.requirement("EXE-5")
async def test_a_server_that_dies_in_the_middle_has_done_nobody_knows_what(tmp_path: Path, events: Events):
    arrived = Arrived()
    async with at_work(obeying(tmp_path / "log"), events=events) as session:

        def note(progress: float, total: float | None, message: str | None) -> None:
            session.state["progress"] = progress
            arrived(progress, total, message)

        waiting = asyncio.create_task(session.call("work_act", {"silent": True, "progress": [1]}, on_progress=note))
        await arrived.wait()
        await session.close()
        outcome = await waiting
        assert not outcome.ok
        await until(lambda: not session.state)

    assert events.call.remote is Remote.UNKNOWN
