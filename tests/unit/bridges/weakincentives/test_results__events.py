from datetime import UTC, datetime
from typing import Any

from weakincentives.prompt import ToolResult
from weakincentives.runtime import InProcessDispatcher, ToolInvoked

from bascule.bridges.weakincentives.results import McpToolInvoked, McpToolResult, tell_on


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
