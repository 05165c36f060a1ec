"""Delivery of outcomes in a private agent session, at the level of the moment in which the caller gets them."""

from pathlib import Path
from typing import Any

from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.policy.fetched_addresses import REMOVED
from bascule.runtime.call_state import Trail
from bascule.runtime.delivery import declined_of, deliverable, delivered, is_declined, without_declined
from bascule.wire.input_required import Question
from support.runtime import Events, at_work, bad, good, obeying

SECRET = DataSensitivity.SECRET
EVIL = "https://evil.test/"
LINK = {"type": "resource_link", "uri": EVIL, "name": "x"}
VISIT = {"mode": "url", "message": "Go.", "url": EVIL}
FORM = {"message": "Who?"}


async def test_a_raise_while_an_outcome_is_held_back_counts(tmp_path: Path, events: Events):
    """The progress of a server that is trusted for labels is released last, and its callback takes its time."""

    async def told(*_: Any) -> None:
        await session.add_private_dataset("payroll", SECRET)

    async with at_work(obeying(tmp_path / "log", trust=("labels",)), events=events) as session:
        order = {"progress": [1], "result": {"content": [LINK]}}
        outcome = good(await session.call("work_act", order, on_progress=told))

    assert outcome.lane is Lane.OPEN
    assert outcome.raw["content"] == [{"type": "text", "text": REMOVED}]
    assert events.call.outcome is outcome


async def test_below_confidential_the_outcome_is_the_same_object(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session:
        await session.add_private_dataset("phone list", DataSensitivity.INTERNAL)
        call: Any = type("Call", (), {"name": "x", "arguments": {}, "respondent": None})
        outcome = ToolResult({"content": [LINK]}, "work", "act", Lane.OPEN, {})
        assert delivered(session._standing, outcome, Trail(call)) is outcome
        question = Question("elicitation/create", VISIT)
        assert deliverable(session._standing, Lane.OPEN, question) == (question, ())
        assert session.deliverable({"method": "elicitation/create", "params": VISIT})["params"] == VISIT
        await session.add_private_dataset("payroll", SECRET)
        assert "url" not in session.deliverable({"method": "elicitation/create", "params": VISIT})["params"]


async def test_a_tools_own_error_keeps_its_structured_content_and_loses_no_words(tmp_path: Path):
    error = {"content": [{"type": "text", "text": EVIL}], "structuredContent": {"see": EVIL}, "isError": True}
    async with at_work(obeying(tmp_path / "log", vouched=SECRET, permissions={"act": "read"})) as session:
        await session.add_private_dataset("payroll", SECRET)
        failure = bad(await session.call("work_act", {"result": error}), FailureKind.TOOL_ERROR)
    assert (failure.message, failure.cause) == (EVIL, {"see": EVIL})


async def test_a_reply_that_was_not_believed_is_kept_without_addresses(tmp_path: Path):
    reply = {"content": "none", "icons": [{"src": EVIL}], "resultType": "complete"}
    async with at_work(obeying(tmp_path / "log", vouched=SECRET, permissions={"act": "read"})) as session:
        await session.add_private_dataset("payroll", SECRET)
        failure = bad(await session.call("work_act", {"result": reply}), FailureKind.PROTOCOL_ERROR)
    assert isinstance(failure, ToolFailure)
    assert "icons" not in failure.cause


async def test_the_questions_of_a_task_without_those_that_are_declined(tmp_path: Path):
    def task(**questions: Any) -> dict[str, Any]:
        asked = {key: {"method": "elicitation/create", "params": each} for key, each in questions.items()}
        return {"status": "input_required", "inputRequests": asked}

    gone = {"mode": "url", "message": "Go."}
    async with at_work(obeying(tmp_path / "log")) as session:
        await session.begin()
        assert declined_of(task(a=gone, b=FORM)) == {"a": {"action": "decline"}}
        assert declined_of({"status": "working"}) == {}
        assert without_declined(session._standing, task(a=gone, b=FORM)) == task(b=FORM)
        assert without_declined(session._standing, task(a=gone)) == {"status": "working"}
        assert without_declined(session._standing, task(a=gone, b=VISIT)) == task(b=VISIT)
        await session.add_private_dataset("payroll", SECRET)
        assert without_declined(session._standing, task(a=gone, b=VISIT)) == {"status": "working"}
    assert not is_declined(Question("sampling/createMessage", gone))
