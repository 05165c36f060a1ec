"""Asking after a task: the rules of the call that led to it, its lane, its labels."""

from pathlib import Path
from typing import Any

import pytest

from bascule.core.client_features import Approval, Respondent
from bascule.core.outcome import FailureKind, TaskResult
from bascule.core.sensitivity import DataSensitivity
from bascule.core.tool import ToolKey
from bascule.runtime.requests.tasks import TaskRef
from bascule.runtime.session import AgentSession
from support.runtime import Events, at_work, bad, good, stand_in, twinned
from support.servers import methods

TAKES = Respondent(tasks=True)
DONE = {"content": [{"type": "text", "text": "done"}]}


def working(folder: Path, **config: Any) -> Any:
    return stand_in("work", "working", folder / "log", **config)


async def begin(session: AgentSession, *states: Any) -> TaskRef:
    begun = good(await session.call("work_act", {"states": states}, respondent=TAKES))
    assert isinstance(begun, TaskResult)
    assert begun.task["status"] == "working"
    return TaskRef(begun.task_id, ToolKey(begun.server, begun.tool), begun.name, begun.lane)


async def test_who_takes_no_tasks_gets_none(tmp_path: Path):
    async with at_work(working(tmp_path)) as session:
        assert good(await session.call("work_act")).text == "at once"
        assert good(await session.call("work_act", respondent=Respondent())).text == "at once"


async def test_what_a_task_has_brought_is_the_result_of_the_tool(tmp_path: Path):
    events = Events()
    async with at_work(working(tmp_path), events=events) as session:
        ref = await begin(session, {"status": "working"}, {"status": "completed", "result": DONE})
        first = await session.follow("tasks/get", ref, None, TAKES)
        last = await session.follow("tasks/get", ref, None, TAKES)
    assert isinstance(first, TaskResult)
    assert isinstance(last, TaskResult)
    assert (first.task["status"], first.raw, last.task["status"], last.text) == ("working", {}, "completed", "done")
    assert [event.method for event in events.requests] == ["tasks/get"] * 2


async def test_a_person_who_agreed_to_the_call_is_not_asked_again_and_is_asked_about_the_next(tmp_path: Path):
    asked: list[Approval] = []

    def on_ask(question: Approval) -> bool:
        asked.append(question)
        return True

    async with at_work(working(tmp_path, ask=("act",)), on_ask=on_ask) as session:
        ref = await begin(session)
        for method in ("tasks/get", "tasks/cancel"):
            assert isinstance(await session.follow(method, ref, None, TAKES), TaskResult)
        assert len(asked) == 1
        await begin(session)
        assert len(asked) == 2


@pytest.mark.parametrize("where", ["result", "error"])
async def test_labels_inside_what_a_task_brings_raise_before_it_is_seen(tmp_path: Path, where: str):
    labels = {"_meta": {"dev.bascule/labels": ["confidential"]}}
    state: dict[str, Any] = {"status": "completed", "result": {**DONE, **labels}}
    if where == "error":
        state = {"status": "failed", "error": {"code": -32603, "message": "x", "data": labels}}
    async with at_work(working(tmp_path, trust=("labels",))) as session:
        ref = await begin(session, state)
        assert session.sensitivity is DataSensitivity.PUBLIC
        await session.follow("tasks/get", ref, None, TAKES)
        assert session.sensitivity is DataSensitivity.CONFIDENTIAL


@pytest.mark.parametrize("twin", [True, False])
async def test_on_another_lane_it_is_not_asked_after(tmp_path: Path, twin: bool):
    server = working(tmp_path)
    async with at_work(twinned(server, server) if twin else server) as session:
        ref = await begin(session)
        await session.add_private_dataset("payroll", DataSensitivity.SECRET)
        failure = bad(await session.follow("tasks/get", ref, None, TAKES), FailureKind.DENIED)
    assert ("begun on the open lane" in failure.message) is twin
    assert "tasks/get" not in methods(tmp_path / "log")


async def test_a_tool_that_is_another_one_by_now_has_no_task(tmp_path: Path):
    async with at_work(working(tmp_path)) as session:
        await session.tools()
        ref = TaskRef("task-1", ToolKey("work", "other"), "work_act", session.lane)
        bad(await session.follow("tasks/get", ref, None, TAKES), FailureKind.INVALID_ARGUMENTS)
