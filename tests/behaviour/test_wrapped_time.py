"""The time of a call with a wrapper around its tool, and what counts against limits."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bascule import (
    Outcome,
    ToolFailure,
    Wrapped,
    native_server,
)
from bascule.config import Limits
from bascule.core.errors import UsageError
from bascule.core.outcome import FailureKind
from support.native import note, passing, wrapping
from support.runtime import Arrived, Events, bad, calls_in, good, obeying

pytestmark = pytest.mark.requirement("CAT-10")


async def test_limits_count_what_reaches_the_server(tmp_path: Path):
    async def skipping(call: Wrapped, arguments: dict[str, Any]) -> Outcome | str:
        return await call({}) if arguments.get("through") else "skipped"

    server = obeying(tmp_path / "log", limits=Limits(per_minute=1))
    async with wrapping(server, skipping) as session:
        for _ in range(3):
            good(await session.call("work_act"))
        good(await session.call("work_act", {"through": True}))
        bad(await session.call("work_act", {"through": True}), FailureKind.DENIED)


async def test_cancelling_the_call_ends_the_wrapper_and_what_it_waits_for(tmp_path: Path, events: Events):
    ended: list[str] = []

    async def waiting(call: Wrapped, arguments: dict[str, Any]) -> Outcome:
        try:
            return await call(arguments)
        finally:
            ended.append("wrapper")

    arrived = Arrived()
    async with wrapping(obeying(tmp_path / "log"), waiting, events=events) as session:
        order = {"progress": [1], "silent": True}
        call = asyncio.create_task(session.call("work_act", order, on_progress=arrived))
        await arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    assert ended == ["wrapper"]
    outcomes = [event.outcome for event in events.calls]
    assert [outcome.kind for outcome in outcomes if isinstance(outcome, ToolFailure)] == [FailureKind.ABORTED] * 2


async def test_a_wrapper_has_no_more_time_than_the_call(tmp_path: Path):
    given: list[str] = []

    async def stubborn(call: Wrapped, arguments: dict[str, Any]) -> Outcome:
        while True:
            outcome = await call({"silent": True})
            given.append(outcome.kind if isinstance(outcome, ToolFailure) else "")

    async def idle(call: Wrapped, arguments: dict[str, Any]) -> None:
        await asyncio.get_running_loop().create_future()

    async with wrapping(obeying(tmp_path / "log"), stubborn) as session:
        bad(await session.call("work_act", timeout=0.2), FailureKind.TIMEOUT)
    async with wrapping(obeying(tmp_path / "log2"), idle) as session:
        late = bad(await session.call("work_act", timeout=0.05), FailureKind.TIMEOUT)

    assert len(given) <= 1
    assert "the wrapper around work_act did not end within 0.05 s" in late.message


async def test_waiting_for_a_person_is_no_part_of_the_time_of_a_wrapped_call():
    answer = asyncio.Event()

    async def on_ask(_approval: Any) -> bool:
        asyncio.get_running_loop().call_later(1.2, answer.set)
        await answer.wait()
        return True

    server = native_server("own", [note], ask=("note",))
    async with wrapping(server, passing, "own_note", on_ask=on_ask) as session:
        good(await session.call("own_note", {"text": "hello"}, timeout=1.0))


async def test_a_tool_cannot_be_called_by_a_wrapper_that_is_over(tmp_path: Path):
    kept: list[Wrapped] = []

    async def keeping(call: Wrapped, arguments: dict[str, Any]) -> str:
        kept.append(call)
        return "over"

    async with wrapping(obeying(tmp_path / "log"), keeping) as session:
        good(await session.call("work_act"))
        with pytest.raises(UsageError, match="over"):
            await kept[0]({})

    assert calls_in(tmp_path / "log") == []
