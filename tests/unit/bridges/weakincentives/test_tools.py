from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest
from weakincentives import Deadline
from weakincentives.clock import FakeClock
from weakincentives.errors import DeadlineExceededError
from weakincentives.prompt import ToolContext
from weakincentives.runtime import Session

from bascule.bridges.weakincentives.errors import McpRunStopped, McpSchemaError, McpToolError
from bascule.bridges.weakincentives.results import McpToolOutput
from bascule.bridges.weakincentives.tools import GovernedTool, Stops, bridged
from bascule.core.outcome import FailureKind, Outcome, ToolFailure
from bascule.core.outcome import ToolResult as Answer
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolKey, ToolSpec

PROMISE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
SPEC = ToolSpec("work_Act", ToolKey("work", "Act"), "digest", "Acts.", input_schema={"type": "object"})


class Calling:
    """Answers every call alike, and keeps what was asked."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self.asked: list[tuple[str, dict[str, Any], float | None]] = []

    def __call__(self, spec: ToolSpec, arguments: dict[str, Any], left: float | None, on_progress: object) -> Outcome:
        self.asked.append((spec.name, arguments, left))
        return self._outcome


def answered(**raw: Any) -> Answer:
    return Answer({"content": [], **raw}, "work", "Act", Lane.OPEN, {})


def a_context(session: Session, **more: Any) -> ToolContext:
    nothing = cast("Any", None)
    return ToolContext(prompt=nothing, rendered_prompt=more.pop("run", None), adapter=nothing, session=session, **more)


def governed(outcome: Outcome, session: Session, spec: ToolSpec = SPEC) -> tuple[GovernedTool, Calling]:
    calling = Calling(outcome)
    return GovernedTool(spec, session, calling, Stops(), lambda server: server == "work"), calling


def test_a_tool_is_called_by_the_name_that_it_is_exposed_by():
    session = Session()
    tool, calling = governed(answered(), session)
    made = bridged("work_act", SPEC, tool, accepts_overrides=True)
    result = tool(made.params_type(additional={"n": 1}), context=a_context(session))

    assert (made.name, made.description, made.accepts_overrides) == ("work_act", "Acts.", True)
    assert calling.asked == [("work_Act", {"n": 1}, None)]
    assert isinstance(result.value, McpToolOutput)


@pytest.mark.parametrize(
    ("schema", "structured", "typed"),
    [
        (PROMISE, {"n": 1}, True),
        (PROMISE, None, False),
        (PROMISE, {"n": "no number"}, False),
        ({"type": "array"}, [1], False),
        ({"type": "object"}, {"n": 1}, False),
        (None, {"n": 1}, False),
    ],
)
def test_a_value_is_of_the_type_that_is_promised_where_it_can_be(schema: Any, structured: Any, typed: bool):
    session, spec = Session(), ToolSpec("t", ToolKey("work", "t"), "d", output_schema=schema)
    tool, _ = governed(answered(structuredContent=structured), session, spec)
    value = tool(None, context=a_context(session)).value

    assert isinstance(value, McpToolOutput) is not typed


def test_a_schema_that_cannot_be_used_makes_no_tool():
    session = Session()
    spec = ToolSpec("t", ToolKey("work", "t"), "d", input_schema={"$ref": "https://elsewhere.test/schema"})
    tool, _ = governed(answered(), session, spec)

    with pytest.raises(McpSchemaError) as raised:
        bridged("t", spec, tool, accepts_overrides=False)
    assert (raised.value.server_name, raised.value.tool_name) == ("work", "t")
    assert raised.value.reason


@pytest.mark.parametrize(("server", "source", "told"), [("work", "mcp", "work"), ("ours", "native", None)])
def test_a_result_tells_which_server_it_came_from(server: str, source: str, told: str | None):
    session = Session()
    tool, _ = governed(msgspec.structs.replace(answered(), server=server), session)
    result = tool(None, context=a_context(session))

    assert (result.source, result.mcp_server) == (source, told)


def test_a_run_that_was_ended_makes_no_further_call():
    session, run = Session(), cast("Any", object())
    tool, calling = governed(ToolFailure(FailureKind.FATAL, "BSC-1", "gone"), session)
    for _ in range(2):
        with pytest.raises(McpRunStopped, match="gone"):
            tool(None, context=a_context(session, run=run))
    assert len(calling.asked) == 1
    with pytest.raises(McpRunStopped):
        tool(None, context=a_context(session, run=object()))
    assert len(calling.asked) == 2


def test_it_acts_for_no_other_session():
    tool, calling = governed(answered(), Session())

    with pytest.raises(McpToolError, match="another session"):
        tool(None, context=a_context(Session()))
    assert calling.asked == []


def test_a_deadline_is_what_is_left_for_the_call():
    clock, session = FakeClock(), Session()
    clock.set_wall(datetime(2026, 1, 1, tzinfo=UTC))
    deadline = Deadline(expires_at=clock.utcnow() + timedelta(seconds=5), clock=clock)
    tool, calling = governed(answered(), session)
    tool(None, context=a_context(session, deadline=deadline))
    clock.advance(5)
    with pytest.raises(DeadlineExceededError):
        tool(None, context=a_context(session, deadline=deadline))

    assert [left for _, _, left in calling.asked] == [5.0]
