"""A call that fails leaves a session of weakincentives as it was; one that must end the run ends it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from weakincentives.prompt import Prompt, ToolContext, ToolResult
from weakincentives.runtime import (
    AgentLoop,
    InMemoryMailbox,
    Session,
    SlicePolicy,
)

from bascule import RunStopped, Runtime
from bascule.bridges.weakincentives import (
    McpConnectionPool,
    McpIntegrationSection,
    McpOutputsForgotten,
    McpRunStopped,
    McpToolInvoked,
    McpToolOutput,
)
from bascule.core.events import ToolInvoked as CallEnded
from support.weakincentives_runs import (
    BROKEN,
    FATAL,
    Asked,
    Plan,
    a_prompt,
    a_session,
    acting,
    adapter,
    beside,
    connected,
    heard_by,
    ran,
    run,
    sent,
)


@pytest.mark.requirement("BRG-3")
@pytest.mark.parametrize(("result", "words"), [(BROKEN, "before"), ({"content": []}, "during")])
def test_what_a_session_came_to_hold_during_a_call_is_undone_if_the_call_fails(tmp_path: Path, result: Any, words: str):
    session = a_session()
    session[Plan].seed(Plan("before"))

    def meanwhile(event: Any) -> None:
        if isinstance(event, CallEnded):
            session[Plan].seed(Plan("during"))

    with McpIntegrationSection(
        session=session, runtime=Runtime.from_servers({"work": acting(tmp_path)}, sinks=[meanwhile])
    ) as section:
        session[Plan].seed(Plan("before"))
        run(tmp_path, section, ("work_act", {"result": result}))

    assert session[Plan].latest() == Plan(words)


@pytest.mark.requirement("BRG-3")
def test_what_a_handler_changed_around_a_failing_call_is_undone_and_what_it_logged_is_not(tmp_path: Path):
    session = a_session()

    @dataclass(frozen=True, slots=True)
    class Noted:
        words: str

    session[Noted].register(Noted, lambda view, event, *, context: appended(event), policy=SlicePolicy.LOG)

    def own(params: Asked, *, context: ToolContext) -> ToolResult[Asked]:
        context.session[Plan].seed(Plan("half done"))
        context.session.dispatch(Noted("tried"))
        context.resources.get(McpConnectionPool).get("work").call("act", json.loads(params.words))
        return ToolResult.ok(params)

    with McpIntegrationSection(servers=[acting(tmp_path)], session=session) as section:
        session[Plan].seed(Plan("before"))
        calls = [("own", {"words": json.dumps({"result": BROKEN})}), ("own", {"words": "{}"})]
        (failing,) = ran(tmp_path, beside(section, own), session, calls[:1]).shown
        assert session[Plan].latest() == Plan("before")
        (going_well,) = ran(tmp_path, beside(section, own), session, calls[1:]).shown

    assert (failing.success, going_well.success) == (False, True)
    assert "no such table" in failing.text
    assert session[Plan].latest() == Plan("half done")
    assert session[Noted].all() == (Noted("tried"), Noted("tried"))


def appended(event: Any) -> Any:
    from weakincentives.runtime.session import Append

    return Append(event)


def test_what_calls_gave_is_kept_and_makes_no_later_call_slower(tmp_path: Path):
    with connected(acting(tmp_path)) as section:
        run(tmp_path, section, ("work_act", {}), ("work_act", {"result": BROKEN}), ("work_act", {}))

        assert len(section.session[McpToolOutput].all()) == 2
        assert not any(kind is McpToolOutput for kind in section.session.snapshot().slices)
        section.session.dispatch(McpOutputsForgotten())
        assert section.session[McpToolOutput].all() == ()


@pytest.mark.requirement("BRG-2")
def test_a_call_that_ends_the_run_leaves_the_session_as_it_was_and_is_told(tmp_path: Path):
    session = a_session()

    def own(params: Asked, *, context: ToolContext) -> ToolResult[Asked]:
        context.session[Plan].seed(Plan("half done"))
        context.resources.get(McpConnectionPool).get("work").call("act", {"result": FATAL})
        return ToolResult.ok(params)

    with McpIntegrationSection(servers=[acting(tmp_path, trust=frozenset({"fatal"}))], session=session) as section:
        session[Plan].seed(Plan("before"))
        ours = heard_by(session, McpToolInvoked)
        with pytest.raises(McpRunStopped, match="the disk is gone"):
            ran(tmp_path, beside(section, own), session, [("own", {})])
        assert session[Plan].latest() == Plan("before")
        with pytest.raises(McpRunStopped, match="the disk is gone") as raised:
            run(tmp_path, section, ("work_act", {"result": FATAL}), ("work_act", {}))

    assert (raised.value.server_name, raised.value.tool_name) == ("work", "work_act")
    assert [(one.result.success, one.result.message) for one in ours] == [(False, "the disk is gone")]
    assert len(sent(tmp_path)) == 2


@pytest.mark.requirement("BRG-2")
def test_the_frameworks_loop_ends_with_the_run_and_begins_no_other(tmp_path: Path):
    class Loop(AgentLoop[str, Any]):
        def prepare(self, request: str, *, experiment: Any = None) -> tuple[Prompt[Any], Session]:
            return a_prompt(section), section.session

    model = adapter(tmp_path, [("work_act", {"result": FATAL})])
    with connected(acting(tmp_path, trust=frozenset({"fatal"}))) as section:
        loop = Loop(adapter=model, requests=InMemoryMailbox(name="requests"))
        with pytest.raises(RunStopped, match="the disk is gone"):
            loop.execute("go")

    assert len(sent(tmp_path)) == 1


@pytest.mark.requirement("BRG-2")
def test_should_an_adapter_go_on_with_a_run_that_was_ended_no_call_gets_through(tmp_path: Path):
    with connected(acting(tmp_path, trust=frozenset({"fatal"}))) as section:
        prompt: Any = a_prompt(section)
        rendered = prompt.render(session=section.session)
        tool: Any = rendered.tools[0]
        model: Any = adapter(tmp_path)
        context = ToolContext(prompt=prompt, rendered_prompt=rendered, adapter=model, session=section.session)
        with pytest.raises(McpRunStopped):
            tool.handler(tool.params_type(result=FATAL), context=context)
        with pytest.raises(McpRunStopped):
            tool.handler(tool.params_type(), context=context)
        assert len(sent(tmp_path)) == 1
        # Another run may use it.
        assert run(tmp_path, section, ("work_act", {})).shown[0].success
