from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from weakincentives.prompt import ToolResult
from weakincentives.runtime import InProcessDispatcher, ToolInvoked
from weakincentives.serde import dump

from bascule.bridges.weakincentives.results import (
    McpOutputsForgotten,
    McpToolInvoked,
    McpToolOutput,
    McpToolResult,
    failed,
    keep_as_log,
    output_of,
    succeeded,
    tell_on,
)
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.outcome import ToolResult as Answer
from bascule.core.sensitivity import Lane
from support.weakincentives_runs import a_session

ANSWER = Answer({"content": [{"type": "text", "text": "well"}]}, "work", "act", Lane.OPEN, {})


def test_a_model_is_shown_the_text_and_a_program_has_the_value():
    result = succeeded(ANSWER, output_of(ANSWER), "work")

    assert isinstance(result, ToolResult)
    assert (result.message, result.success, result.exclude_value_from_context) == ("well", True, True)
    assert result.value == McpToolOutput("well", ({"type": "text", "text": "well"},))
    assert (result.source, result.mcp_server) == ("mcp", "work")


def test_a_failure_is_shown_with_what_to_do_about_it():
    result = failed(ToolFailure(FailureKind.DENIED, "BSC-300", "no", fix="ask"), None)

    assert (result.message, result.success, result.value) == ("no\nask", False, None)
    assert (result.source, result.mcp_server) == ("native", None)


def test_the_framework_can_write_an_output_down():
    output = output_of(ANSWER)

    assert dump(output)["text"] == output.render() == "well"


@dataclass(frozen=True, slots=True)
class Output:
    words: str


def test_a_log_is_in_no_snapshot_and_is_not_undone():
    session = a_session()
    keep_as_log(session, Output)
    keep_as_log(session, Output)
    before = session.snapshot()
    session.dispatch(Output("one"))
    session.restore(before)

    assert session[Output].all() == (Output("one"),)
    assert Output not in session.snapshot().slices


def test_it_can_be_forgotten():
    session = a_session()
    keep_as_log(session, Output)
    session.dispatch(Output("one"))
    session.dispatch(McpOutputsForgotten())

    assert session[Output].all() == ()


def invoked(result: Any) -> ToolInvoked:
    return ToolInvoked(
        prompt_name="p",
        adapter="a",
        name="work_act",
        params={"n": 1},
        result=result,
        session_id=None,
        created_at=datetime.now(UTC),
        call_id="c",
    )


def test_each_call_of_a_tool_of_ours_is_told_once_however_often_that_is_asked_for():
    dispatcher, heard = InProcessDispatcher(), list[Any]()
    dispatcher.subscribe(McpToolInvoked, heard.append)
    tell_on(dispatcher)
    tell_on(dispatcher)
    ours = McpToolResult(message="well", value=None, mcp_server="work")
    dispatcher.dispatch(invoked(ours))
    dispatcher.dispatch(invoked(ToolResult(message="theirs", value=None)))

    assert heard == [McpToolInvoked("work_act", {"n": 1}, ours, "mcp", "work", None, "c")]
