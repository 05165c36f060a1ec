"""Wrappers by the names of their tools, and the time that a wrapped call has."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from bascule.core.call import ToolCall
from bascule.core.errors import ReplyTimeout, UsageError
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolKey, ToolSpec
from bascule.runtime.call_state import Trail
from bascule.runtime.execution.wrappers import Wrapped, Wrapping, _Course, _since_sent
from bascule.runtime.prepared_call import Prepared
from support.links import ALICE
from support.virtual_time import in_virtual_time

TRAIL = Trail(ToolCall("work_act", {}))


def a_spec(tool: str) -> ToolSpec:
    return ToolSpec(f"work_{tool}", ToolKey("work", tool), "")


async def one(call: Wrapped, arguments: dict[str, Any]) -> None: ...


async def two(call: Wrapped, arguments: dict[str, Any]) -> None: ...


def test_a_wrapper_is_found_by_either_name_of_its_tool():
    wrapping = Wrapping()
    wrapping.add("work_a", one)
    assert [wrapping.around(a_spec(tool)) for tool in "ab"] == [one, None]
    wrapping.add(("work", "b"), two)
    assert [wrapping.around(a_spec(tool)) for tool in "abc"] == [one, two, None]


def test_two_wrappers_around_one_tool_are_none():
    wrapping = Wrapping()
    wrapping.add("work_a", one)
    wrapping.add(("work", "a"), two)
    with pytest.raises(UsageError, match="two wrappers around work/a"):
        wrapping.around(a_spec("a"))


async def test_the_tool_is_called_by_calling_it():
    async def ask(arguments: Any) -> Outcome:
        return ToolResult({"content": [], "asked": arguments}, "work", "a", Lane.OPEN, {})

    outcome = await Wrapped(a_spec("a"), ALICE, ask)({"b": 1})
    assert isinstance(outcome, ToolResult)
    assert outcome.raw["asked"] == {"b": 1}


class Stand:
    """A standing that gives a call so many seconds."""

    def __init__(self, limit: float) -> None:
        self._limit = limit

    def limit_of(self, _prepared: Prepared) -> float:
        return self._limit


class Tool:
    """A tool that waits before it is sent, and takes its time then. `given` is what it was given each time."""

    def __init__(self, before: float, takes: float) -> None:
        self._before, self._takes = before, takes
        self.given: list[float | None] = []

    async def carry(self, _standing: Any, _operation: Any, call: ToolCall) -> Outcome:
        self.given.append(call.timeout)
        await asyncio.sleep(self._before)
        assert call.timeout is not None
        await asyncio.sleep(min(self._takes, call.timeout))
        steps = {"lease": self._before}
        if self._takes > call.timeout:
            return ToolFailure(FailureKind.TIMEOUT, "BSC-403", "late", steps=steps)
        return ToolResult({"content": []}, "work", "act", Lane.OPEN, steps)


def in_the_course(tool: Tool, body: Callable[[_Course], Awaitable[Any]], limit: float = 10.0) -> float:
    """How many seconds a wrapper took. Raises what became of its call."""

    async def course() -> float:
        now = asyncio.get_running_loop().time
        began = now()
        made = _Course(cast("Any", Stand(limit)), Prepared("tools/call", "work", {}), TRAIL, tool.carry)
        await made.wait_for(asyncio.ensure_future(body(made)))
        return now() - began

    return in_virtual_time(course())


def test_what_a_tool_waits_for_before_it_is_sent_does_not_count():
    async def thrice(course: _Course) -> None:
        for _ in range(3):
            await course.ask({})

    tool = Tool(before=100, takes=3)
    assert in_the_course(tool, thrice) == pytest.approx(309)
    assert tool.given == pytest.approx([10, 7, 4])


def test_what_a_wrapper_does_itself_counts():
    async def slowly(course: _Course) -> None:
        await asyncio.sleep(4)
        await course.ask({})
        await asyncio.sleep(2.5)
        await course.ask({})

    tool = Tool(before=0, takes=1)
    assert in_the_course(tool, slowly) == pytest.approx(8.5)
    assert tool.given == pytest.approx([6, 2.5])


def test_calls_beside_each_other_take_the_time_of_the_longest():
    async def together(course: _Course) -> None:
        await asyncio.gather(*(course.ask({}) for _ in range(5)))
        await course.ask({})

    tool = Tool(before=0, takes=4)
    assert in_the_course(tool, together) == pytest.approx(8)
    assert tool.given == pytest.approx([10, 10, 10, 10, 10, 6])


def test_a_wrapper_that_tries_again_and_again_ends_with_its_time():
    async def stubborn(course: _Course) -> None:
        while True:
            await course.ask({})

    tool = Tool(before=0, takes=20)
    with pytest.raises(ReplyTimeout, match="did not end within 10 s"):
        in_the_course(tool, stubborn)
    assert tool.given == [10]


def test_a_wrapper_that_does_not_end_when_told_to_is_left_behind():
    async def clinging(_course: _Course) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await asyncio.sleep(5)

    with pytest.raises(ReplyTimeout):
        in_the_course(Tool(0, 0), clinging)


def test_what_was_never_sent_took_no_time_of_the_call():
    assert _since_sent(ToolFailure(FailureKind.DENIED, "BSC-301", "no"), 300.0) == 0
    late = ToolFailure(FailureKind.TIMEOUT, "BSC-403", "late", steps={"decide": 5.0, "lease": 2.0})
    assert _since_sent(late, 17.0) == 10.0
