"""How calls of functions end: well, with an error, too late, cut off."""

import asyncio
import threading
from contextlib import suppress as suppressed
from typing import Any

import pytest

from bascule import (
    AgentSession,
    Media,
    Progress,
    ToolFatalError,
    ToolRetryError,
    tool,
)
from bascule.config import PRESETS, Timeouts
from bascule.core.events import CallUndone
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity
from bascule.core.undo.transaction import Ending
from support.native import note, serving
from support.runtime import Events, bad, good
from support.waiting import until

pytestmark = pytest.mark.requirement("CAT-10")

SECRET = DataSensitivity.SECRET


async def test_a_long_result_is_limited_and_saved():
    @tool("read")
    async def long() -> str:
        return "line\n" * 100_000

    async with serving(long, limit=PRESETS["default"]) as session:
        outcome = good(await session.call("own_long"))

        assert len(outcome.text) < 50_000
        assert len(list(session.workspace.list())) == 1


async def test_a_raise_cuts_a_function_off_that_is_at_work_where_there_is_a_way_out():
    begun, ended = asyncio.Event(), asyncio.Event()

    async def upload() -> str:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()
        return "done"

    async with serving(upload) as session:
        call = asyncio.create_task(session.call("own_upload"))
        await begun.wait()
        await session.add_private_dataset("salaries", SECRET)

        assert ended.is_set()
        bad(await call, FailureKind.CONNECTION_ERROR)


async def test_a_call_that_is_cancelled_or_too_late_ends_its_function(events: Events):
    ends: list[str] = []

    @tool("read")
    async def hang(label: str, say: Progress) -> None:
        say(0)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ends.append(label)

    begun = asyncio.Event()
    async with serving(hang, events=events) as session:
        late = bad(await session.call("own_hang", {"label": "late"}, timeout=0.05), FailureKind.TIMEOUT)
        call = asyncio.create_task(session.call("own_hang", {"label": "cancelled"}, on_progress=lambda *_: begun.set()))
        await begun.wait()
        call.cancel()
        with suppressed(asyncio.CancelledError):
            await call

    assert ends == ["late", "cancelled"]
    assert late.evidence == ""
    assert [event.source for event in events.calls] == ["native", "native"]


async def test_a_function_in_a_thread_that_is_too_late_is_told_to_run_on():
    over = threading.Event()

    @tool("read")
    def block() -> None:
        over.wait(20)

    async with serving(block, timeouts=Timeouts(close=5)) as session:
        try:
            late = bad(await session.call("own_block", timeout=0.05), FailureKind.TIMEOUT)
        finally:
            over.set()

    assert "runs on in its thread" in late.evidence


async def test_a_function_that_blocks_stops_nobody_else():
    over = threading.Event()

    @tool("read")
    def block() -> str:
        assert over.wait(20)
        return "over"

    async with serving(block, note) as session:
        call = asyncio.create_task(session.call("own_block"))
        good(await session.call("own_note", {"text": "meanwhile"}))
        over.set()
        assert good(await call).text == "over"


async def test_what_a_function_raises_is_told_by_its_meaning(caplog: pytest.LogCaptureFixture):
    @tool("read")
    def mistaken() -> None:
        raise FileNotFoundError("/home/somebody/secret.txt")

    @tool("read")
    async def correctable() -> None:
        raise ToolRetryError("there is no such month", code="month")

    @tool("read")
    def hopeless() -> None:
        raise ToolFatalError("the disk is gone")

    @tool("read")
    def leaving() -> None:
        raise SystemExit(3)

    async with serving(mistaken, correctable, hopeless, leaving) as session:
        wrong = bad(await session.call("own_mistaken"), FailureKind.TOOL_ERROR)
        again = bad(await session.call("own_correctable"), FailureKind.TOOL_ERROR)
        fatal = bad(await session.call("own_hopeless"), FailureKind.FATAL)
        left = bad(await session.call("own_leaving"), FailureKind.TOOL_ERROR)

    assert wrong.message == "mistaken failed: FileNotFoundError"
    assert "/home/somebody" not in repr(wrong)
    assert "/home/somebody" in caplog.text
    assert (again.retriable, again.tool_code) == (True, "month")
    assert again.message.startswith("there is no such month")
    assert fatal.message == "the disk is gone"
    assert left.message == "leaving failed: RuntimeError"


async def test_pictures_and_sounds_come_as_content():
    @tool("read")
    async def draw() -> list[str | Media]:
        return ["a dot", Media(b"\x89PNG", "image/png"), Media(b"RIFF", "audio/wav")]

    @tool("read")
    async def raw() -> bytes:
        return b"\x89PNG"

    async with serving(draw, raw) as session:
        drawn = good(await session.call("own_draw"))
        bad(await session.call("own_raw"), FailureKind.TOOL_ERROR)

    assert [block["type"] for block in drawn.raw["content"]] == ["text", "image", "audio"]
    assert drawn.content[1].data == "iVBORw=="
    assert drawn.structured is None


async def test_a_result_that_breaks_the_promise_of_its_function_is_no_result():
    @tool("read")
    async def sized() -> dict[str, int]:
        return {"size": "large"}  # pyright: ignore[reportReturnType]

    async with serving(sized) as session:
        bad(await session.call("own_sized"), FailureKind.PROTOCOL_ERROR)


async def test_a_failed_call_leaves_nothing_of_what_its_function_changed():
    sessions: list[AgentSession] = []

    @tool("write")
    def half(fails: bool) -> str:
        sessions[0].state["half"] = "written"
        sessions[0].workspace.write_text("half.txt", "written")
        if fails:
            raise ToolRetryError("in the middle")
        return "whole"

    async with serving(half) as session:
        sessions.append(session)
        bad(await session.call("own_half", {"fails": True}), FailureKind.TOOL_ERROR)
        left = (dict(session.state), [found.name for found in session.workspace.list()])
        good(await session.call("own_half", {"fails": False}))
        kept = (dict(session.state), [found.name for found in session.workspace.list()])

    assert left == ({}, [])
    assert kept == ({"half": "written"}, ["half.txt"])


async def test_what_a_function_is_given_and_gives_is_nobody_elses_to_change():
    held: list[Any] = []

    @tool("read")
    async def keep(items: list[int]) -> dict[str, Any]:
        held.append(items)
        found = {"items": items}
        held.append(found)
        return found

    async with serving(keep) as session:
        given = [1]
        outcome = good(await session.call("own_keep", {"items": given}))
        held[0].append(2)
        held[1]["more"] = True

    assert given == [1]
    assert outcome.structured == {"items": [1]}


async def test_progress_comes_from_any_thread_and_in_order():
    @tool("read")
    def count(to: int, say: Progress) -> str:
        for number in range(1, to + 1):
            say(number, to, f"at {number}")
        return "counted"

    seen: list[tuple[float, float | None, str | None]] = []
    async with serving(count) as session:
        good(await session.call("own_count", {"to": 5}, on_progress=lambda *told: seen.append(told)))

    assert seen[-1] == (5, 5, "at 5")
    assert seen == sorted(seen)


async def test_what_a_thread_changes_after_its_call_was_given_up_is_undone_when_its_link_has_ended(events: Events):
    go_on, done = threading.Event(), threading.Event()
    sessions: list[AgentSession] = []

    @tool("write")
    def late() -> None:
        go_on.wait(20)
        sessions[0].state["late"] = "written"
        done.set()

    async with serving(late, events=events) as session:
        sessions.append(session)
        bad(await session.call("own_late", timeout=0.05), FailureKind.TIMEOUT)
        go_on.set()
        assert await asyncio.to_thread(done.wait, 20)
        assert dict(session.state) == {"late": "written"}
        await session.close()
        await until(lambda: any(isinstance(event, CallUndone) for event in events))
        assert dict(session.state) == {}
    assert events.call.local is Ending.WAITING
