"""Functions of a program around single tools: they change what goes in and what comes out, and can open nothing."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bascule import (
    AgentSession,
    Outcome,
    Runtime,
    ToolFailure,
    ToolFatalError,
    ToolResult,
    ToolRetryError,
    Wrapped,
    native_server,
    tool,
)
from bascule.config import PRESETS, RuntimeConfig
from bascule.core.errors import StoreError, UsageError
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity
from support.auditing import logged
from support.native import passing, wrapping
from support.runtime import Events, a_tool, bad, calls_in, good, obeying, text
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("CAT-10")

SECRET = DataSensitivity.SECRET
ACT = a_tool("act")


@pytest.mark.parametrize("name", ["work_act", ("work", "act")])
async def test_a_wrapper_changes_what_goes_in_and_what_comes_out(tmp_path: Path, name: str | tuple[str, str]):
    async def footer(call: Wrapped, arguments: dict[str, Any]) -> str:
        outcome = await call({**arguments, "result": text("body")})
        assert isinstance(outcome, ToolResult)
        return f"{outcome.text} and footer for {call.principal.user_id} by {call.tool.name}"

    async with wrapping(obeying(tmp_path / "log"), footer, name) as session:
        outcome = good(await session.call("work_act", {"mine": 1}))

    assert outcome.text == "body and footer for alice by work_act"
    assert (outcome.server, outcome.tool) == ("work", "act")
    assert calls_in(tmp_path / "log")[0]["arguments"] == {"mine": 1, "result": text("body")}


async def test_the_call_is_told_as_native_and_what_it_asks_for_as_a_servers(
    tmp_path: Path, events: Events, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))

    async def twice(call: Wrapped, arguments: dict[str, Any]) -> Outcome:
        await call({"result": text("first")})
        return await call({"result": text("second")})

    async with wrapping(obeying(tmp_path / "log"), twice, events=events) as session:
        assert good(await session.call("work_act", {"mine": "x"})).text == "second"

    assert [(event.tool, event.source, event.outcome.ok) for event in events.calls] == [
        ("work_act", "mcp", True),
        ("work_act", "mcp", True),
        ("work_act", "native", True),
    ]
    assert events.calls[-1].arguments == {"mine": "string[1]"}
    assert "wrapper" in events.calls[-1].steps
    ended = logged(tmp_path / "state", "ended")
    assert [record.get("source", "mcp") for record in ended] == ["mcp", "mcp", "native"]


async def test_a_wrapper_may_not_call_the_tool_at_all(tmp_path: Path, events: Events):
    async def refusing(call: Wrapped, arguments: dict[str, Any]) -> None:
        raise ToolRetryError("not on Sundays")

    async with wrapping(obeying(tmp_path / "log"), refusing, events=events) as session:
        failure = bad(await session.call("work_act"), FailureKind.TOOL_ERROR)

    assert failure.message.startswith("not on Sundays")
    assert calls_in(tmp_path / "log") == []
    assert [event.source for event in events.calls] == ["native"]


async def test_other_tools_are_called_as_ever(tmp_path: Path, events: Events):
    server = obeying(tmp_path / "log", ACT, a_tool("other"))
    async with wrapping(server, passing, events=events) as session:
        good(await session.call("work_other"))

    assert [event.source for event in events.calls] == ["mcp"]


async def test_what_a_wrapper_raises_is_an_error_of_the_call_and_ends_no_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    async def broken(call: Wrapped, arguments: dict[str, Any]) -> None:
        how = arguments["how"]
        if how == "fatal":
            raise ToolFatalError("stop")
        if how == "cancelled":
            raise asyncio.CancelledError
        if how == "odd":
            return object()  # pyright: ignore[reportReturnType]
        raise ValueError("/home/somebody/secret.txt")

    async with wrapping(obeying(tmp_path / "log"), broken) as session:
        wrong = bad(await session.call("work_act", {"how": "wrong"}), FailureKind.TOOL_ERROR)
        fatal = bad(await session.call("work_act", {"how": "fatal"}), FailureKind.FATAL)
        bad(await session.call("work_act", {"how": "cancelled"}), FailureKind.TOOL_ERROR)
        bad(await session.call("work_act", {"how": "odd"}), FailureKind.TOOL_ERROR)

    assert wrong.message == "the wrapper around work_act failed: ValueError"
    assert "/home/somebody" in caplog.text
    assert fatal.message == "stop"


async def test_a_hidden_tool_stays_hidden_whatever_its_wrapper_would_say(tmp_path: Path, events: Events):
    ran: list[str] = []

    async def boasting(call: Wrapped, arguments: dict[str, Any]) -> str:
        ran.append("ran")
        return "here I am"

    server = obeying(tmp_path / "log", ACT, a_tool("hidden"), block=("hidden",))
    async with wrapping(server, boasting, "work_hidden", events=events) as session:
        bad(await session.call("work_hidden"), FailureKind.UNKNOWN_TOOL)
        names = [spec.name for spec in await session.tools()]

    assert (ran, names) == ([], ["work_act"])
    assert [event.source for event in events.calls] == ["mcp"]


async def test_once_private_a_wrapper_opens_nothing(tmp_path: Path):
    ran: list[str] = []

    async def trying(call: Wrapped, arguments: dict[str, Any]) -> Outcome:
        ran.append("ran")
        return await call(arguments)

    async with wrapping(obeying(tmp_path / "log", sandbox="none"), trying) as session:
        good(await session.call("work_act"))
        await session.add_private_dataset("salaries", SECRET)
        bad(await session.call("work_act", {"salary": 7}), FailureKind.DENIED)

    assert ran == ["ran"]
    assert [call["arguments"] for call in calls_in(tmp_path / "log")] == [{}]


async def test_what_becomes_private_in_the_middle_of_a_wrapper_goes_no_further(tmp_path: Path):
    async def leaking(call: Wrapped, arguments: dict[str, Any]) -> Outcome:
        await sessions[0].add_private_dataset("salaries", SECRET)
        return await call({"salary": 7})

    sessions: list[AgentSession] = []
    async with wrapping(obeying(tmp_path / "log", sandbox="none"), leaking) as session:
        sessions.append(session)
        bad(await session.call("work_act"), FailureKind.DENIED)

    assert calls_in(tmp_path / "log") == []


async def test_a_person_is_asked_about_what_the_wrapper_sends_and_their_no_stands(tmp_path: Path):
    asked: list[Mapping[str, Any]] = []

    def on_ask(approval: Any) -> bool:
        asked.append(dict(approval.arguments))
        return False

    async def changing(call: Wrapped, arguments: dict[str, Any]) -> Outcome:
        return await call({"amount": 1_000_000})

    async with wrapping(obeying(tmp_path / "log", ask=("act",)), changing, on_ask=on_ask) as session:
        bad(await session.call("work_act", {"amount": 1}), FailureKind.DENIED)

    assert asked == [{"amount": 1_000_000}]
    assert calls_in(tmp_path / "log") == []


async def test_what_is_withheld_is_withheld_from_the_wrapper_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[Outcome] = []

    async def full(*_: object) -> None:
        raise StoreError("the disk is full")

    async def looking(call: Wrapped, arguments: dict[str, Any]) -> str:
        seen.append(await call(arguments))
        return "what I know"

    labelled = {**text("the salaries"), "_meta": {"dev.bascule/labels": ["internal"]}}
    server = obeying(tmp_path / "log", trust=["labels"])
    async with wrapping(server, looking) as session:
        await session.connect()
        monkeypatch.setattr("bascule.store.sqlite.levels.SqliteLevels.raise_level", full)
        good(await session.call("work_act", {"result": labelled}))

        assert session.sensitivity is SECRET
    bad(seen[0], FailureKind.DENIED)
    assert "the salaries" not in repr(seen[0])


async def test_a_raises_rule_holds_inside_a_wrapper_too():
    @tool("read")
    async def salaries() -> str:
        return "much"

    server = native_server("work", [salaries], raises={"salaries": SECRET})
    async with wrapping(server, passing, "work_salaries") as session:
        outcome = good(await session.call("work_salaries"))

        assert (session.sensitivity, outcome.text) == (SECRET, "much")
        assert len(session.receipts) == 1


async def test_arguments_are_checked_before_the_wrapper_and_after_it(tmp_path: Path):
    seen: list[Any] = []

    async def spoiling(call: Wrapped, arguments: dict[str, Any]) -> Outcome:
        seen.append(arguments)
        return await call({"count": "many"})

    counted = a_tool("act", {"properties": {"count": {"type": "integer"}}})
    async with wrapping(obeying(tmp_path / "log", counted), spoiling) as session:
        bad(await session.call("work_act", {"count": "few"}), FailureKind.INVALID_ARGUMENTS)
        assert seen == []
        bad(await session.call("work_act", {"count": 3}), FailureKind.INVALID_ARGUMENTS)

    assert calls_in(tmp_path / "log") == []


async def test_a_failure_that_is_passed_on_stays_what_it_is(tmp_path: Path):
    async with wrapping(obeying(tmp_path / "log"), passing) as session:
        failure = await session.call("work_act", {"error": {"code": -32000, "message": "no"}})

    assert isinstance(failure, ToolFailure)
    assert (failure.kind, failure.tool_code) == (FailureKind.TOOL_ERROR, -32000)


async def test_the_wrapper_sees_the_whole_and_the_caller_what_is_limited():
    seen: list[int] = []

    @tool("read")
    async def long() -> str:
        return "line\n" * 100_000

    async def looking(call: Wrapped, arguments: dict[str, Any]) -> Outcome:
        outcome = await call(arguments)
        assert isinstance(outcome, ToolResult)
        seen.append(len(outcome.text))
        return outcome

    server = native_server("work", [long], limit=PRESETS["default"])
    async with wrapping(server, looking, "work_long") as session:
        outcome = good(await session.call("work_long"))

        assert len(outcome.text) < 50_000
        assert len(list(session.workspace.list())) == 1
    assert seen == [500_000]


async def test_what_a_wrapper_returns_must_keep_the_tools_promise():
    @tool("read")
    async def sized() -> dict[str, int]:
        return {"size": 3}

    async def wordy(call: Wrapped, arguments: dict[str, Any]) -> Any:
        return {"size": "large"} if arguments == {} else None

    async with wrapping(native_server("work", [sized]), wordy, "work_sized") as session:
        bad(await session.call("work_sized"), FailureKind.PROTOCOL_ERROR)


async def test_what_a_wrapper_changes_is_undone_with_the_call_that_fails():
    sessions: list[AgentSession] = []

    @tool("read")
    async def nothing() -> None:
        return None

    async def half(call: Wrapped, arguments: dict[str, Any]) -> None:
        sessions[0].state["half"] = "written"
        raise ToolRetryError("in the middle")

    async with wrapping(native_server("work", [nothing]), half, "work_nothing") as session:
        sessions.append(session)
        bad(await session.call("work_nothing"), FailureKind.TOOL_ERROR)

        assert dict(session.state) == {}


async def test_at_most_one_wrapper_stands_around_a_tool(tmp_path: Path):
    runtime = Runtime(RuntimeConfig({"work": obeying(tmp_path / "log")}))
    runtime.wrap("work_act", passing)
    with pytest.raises(UsageError, match="already"):
        runtime.wrap("work_act", passing)
    with pytest.raises(UsageError, match="coroutine"):
        runtime.wrap("work_other", lambda call, arguments: None)  # pyright: ignore[reportArgumentType]
    runtime.wrap(("work", "act"), passing)
    async with fail_after(20), runtime:
        with pytest.raises(UsageError, match="running"):
            runtime.wrap("work_more", passing)
        bad(await runtime.session("alice", "s-1").call("work_act"), FailureKind.INVALID_ARGUMENTS)
    assert calls_in(tmp_path / "log") == []
