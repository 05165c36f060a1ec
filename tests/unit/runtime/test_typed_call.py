"""One call by types."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import InvalidArguments
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.unset import UNSET
from bascule.runtime.typed_call import typed_call
from support.runtime import a_tool, at_work, bad, calls_in, obeying


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    count: int


COUNTED: dict[str, Any] = {
    "result": {"content": [], "structuredContent": {"count": 3}, "resultType": "complete"},
}


async def test_what_was_given_travels_and_the_outcome_comes_back(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool("act"))) as session:
        outcome = await typed_call(session, "work_act", {"a": Count(count=1), "b": UNSET, "c": None})

    assert isinstance(outcome, ToolResult)
    assert calls_in(tmp_path / "log")[0]["arguments"] == {"a": {"count": 1}, "c": None}


async def test_a_structured_result_comes_back_as_its_type(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool("act"))) as session:
        assert await typed_call(session, "work_act", COUNTED, Count) == Count(count=3)
        assert await typed_call(session, "work_act", COUNTED, Count | None) == Count(count=3)


async def test_a_failure_comes_back_as_it_is(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool("act", {"additionalProperties": False}))) as session:
        outcome = await typed_call(session, "work_act", {"a": 1}, Count)

    assert isinstance(outcome, ToolFailure)
    assert outcome.kind is FailureKind.INVALID_ARGUMENTS


async def test_a_result_of_another_type_is_a_failure_that_keeps_what_came(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool("act"))) as session:
        outcome = await typed_call(session, "work_act", COUNTED, list[int])

    assert not isinstance(outcome, list)
    failure = bad(outcome, FailureKind.PROTOCOL_ERROR)
    assert failure.cause == {"count": 3}
    assert "bascule stubs" in failure.fix
    assert (failure.server, failure.tool) == ("work", "act")


async def test_arguments_without_a_name_travel_beside_the_others_and_never_in_their_place(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool("act"))) as session:
        await typed_call(session, "work_act", {"a": 1}, additional={"b": 2})
        with pytest.raises(InvalidArguments, match="an argument of its own: a"):
            await typed_call(session, "work_act", {"a": UNSET}, additional={"a": 2})

    assert [call["arguments"] for call in calls_in(tmp_path / "log")] == [{"a": 1, "b": 2}]
