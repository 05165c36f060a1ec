"""Calls through the section: typed, told of, undone where they fail, and ended with the run where that must be."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from weakincentives import Deadline
from weakincentives.prompt import Prompt, ToolContext, ToolResult
from weakincentives.runtime import (
    Heartbeat,
    Session,
    ToolInvoked,
)

from bascule import Runtime
from bascule.bridges.weakincentives import (
    McpConnectionError,
    McpConnectionPool,
    McpIntegrationSection,
    McpSchemaError,
    McpTimeoutError,
    McpToolError,
    McpToolInvoked,
    McpToolOutput,
    McpToolResult,
)
from bascule.config import Timeouts
from support.bridge_matrix import configured
from support.offers import life
from support.runtime import a_tool, obeying
from support.scenarios import entry, listing, scripted, write_yaml
from support.weakincentives_runs import (
    ACT,
    BROKEN,
    Asked,
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
def test_a_model_is_given_the_types_of_a_tool_and_its_arguments_reach_the_server(tmp_path: Path):
    properties = {
        "owner": {"type": "string"},
        "class": {"enum": ["bug", "wish"]},
        "size": {"type": "number"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object", "properties": {"x-y": {"type": ["integer", "null"]}}, "required": ["x-y"]},
    }
    tool = a_tool("create_issue", {"properties": properties, "required": ["owner"], "additionalProperties": False})
    whole = {"owner": "o", "class": "bug", "size": 3, "labels": ["a"], "more": {"x-y": None}}
    with connected(obeying(tmp_path / "log", tool)) as section:
        (made,) = section.tools()
        given = run(tmp_path, section, ("work_create_issue", whole), ("work_create_issue", {"owner": "o"}))

    shown = given.tools["work_create_issue"]["inputSchema"]
    assert made.params_type.__name__ == "WorkCreateIssueParams"
    assert shown["required"] == ["owner"]
    assert shown["properties"]["class"] == {"enum": ["bug", "wish"], "type": "string"}
    assert shown["properties"]["labels"] == {"type": "array", "items": {"type": "string"}}
    assert shown["properties"]["more"]["properties"]["x-y"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert [one.success for one in given.shown] == [True, True]
    assert sent(tmp_path) == [whole, {"owner": "o"}]


@pytest.mark.requirement("BRG-2")
@pytest.mark.parametrize(
    ("arguments", "word"),
    [({"n": "1"}, "Validation error"), ({"n": 1, "m": 2}, "Extra keys"), ({}, "Missing"), ({"n": 500}, "more than 9")],
)
def test_arguments_that_do_not_fit_go_back_to_the_model_and_never_to_the_server(
    tmp_path: Path, arguments: Any, word: str
):
    counted = {"properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"], "additionalProperties": False}
    with connected(obeying(tmp_path / "log", a_tool("count", counted))) as section:
        (shown,) = run(tmp_path, section, ("work_count", arguments)).shown

    assert not shown.success
    assert word in shown.text
    assert sent(tmp_path) == []


def test_a_tool_that_takes_whatever_there_is_gets_it(tmp_path: Path):
    with connected(obeying(tmp_path / "log")) as section:
        assert run(tmp_path, section, ("work_act", {"additional": {"a": 1, "b": [None]}})).shown[0].success

    assert sent(tmp_path) == [{"a": 1, "b": [None]}]


def test_a_schema_that_leads_back_to_itself_is_given_as_far_as_it_goes(tmp_path: Path):
    tree = {
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}
        },
        "properties": {"root": {"$ref": "#/$defs/node"}},
    }
    grown = {"root": {"n": 1, "next": {"n": 2, "next": {"n": 3}}}}
    with connected(obeying(tmp_path / "log", a_tool("grow", tree))) as section:
        shown = run(tmp_path, section, ("work_grow", grown), ("work_grow", {"root": {"next": {"n": "x"}}})).shown

    assert [one.success for one in shown] == [True, False]
    assert sent(tmp_path) == [grown]


@pytest.mark.requirement("BRG-3")
def test_a_result_is_a_dataclass_where_its_tool_promises_one_and_else_one_of_ours(tmp_path: Path):
    promise = {
        "type": "object",
        "properties": {"number": {"type": "integer"}, "url": {"type": "string"}},
        "required": ["number"],
    }
    typed = a_tool("typed", ACT, outputSchema=promise)
    answer = {"content": [], "structuredContent": {"number": 7}}
    with connected(obeying(tmp_path / "log", typed, a_tool("plain", ACT))) as section:
        invoked = heard_by(section.session, ToolInvoked)
        shown = run(tmp_path, section, ("work_typed", {"result": answer}), ("work_plain", {"result": answer})).shown

    value, plain = (event.result.value for event in invoked)
    assert type(value) is section_result(section)
    assert (value.number, value.url) == (7, None)
    assert plain == McpToolOutput("number: 7", (), {"number": 7})
    assert [one.text for one in shown] == ["number: 7", "number: 7"]


def section_result(section: McpIntegrationSection) -> type:
    section.connect()
    try:
        return next(tool.result_type for tool in section.tools() if tool.name == "work_typed")
    finally:
        section.disconnect()


@pytest.mark.requirement("BRG-3")
def test_every_call_is_told_with_where_its_tool_lives(tmp_path: Path):
    with connected(acting(tmp_path)) as section:
        native, ours = heard_by(section.session, ToolInvoked), heard_by(section.session, McpToolInvoked)
        run(tmp_path, section, ("work_act", {}), ("work_act", {"result": BROKEN}))

    assert [event.name for event in native] == ["work_act", "work_act"]
    assert [(one.tool_name, one.params, one.source, one.mcp_server) for one in ours] == [
        ("work_act", {}, "mcp", "work"),
        ("work_act", {"result": BROKEN}, "mcp", "work"),
    ]
    assert [one.result.success for one in ours] == [True, False]
    assert [one.result for one in ours] == [event.result for event in native]
    assert all(one.session_id == section.session.session_id for one in ours)


def test_a_tool_of_the_frameworks_own_is_told_by_the_framework_alone(tmp_path: Path):
    def own(params: Asked, *, context: ToolContext) -> ToolResult[Asked]:
        return ToolResult.ok(params)

    with connected(acting(tmp_path)) as section:
        native, ours = heard_by(section.session, ToolInvoked), heard_by(section.session, McpToolInvoked)
        ran(tmp_path, beside(section, own), section.session, [("own", {})])

    assert ([event.name for event in native], ours) == (["own"], [])


def test_functions_of_the_program_are_told_as_its_own(tmp_path: Path):
    def add(one: int, other: int) -> int:
        """Adds two numbers."""
        return one + other

    runtime = Runtime.from_servers({})
    runtime.native("own", [add])
    with McpIntegrationSection(session=a_session(), runtime=runtime) as section:
        ours = heard_by(section.session, McpToolInvoked)
        (shown,) = run(tmp_path, section, ("own_add", {"one": 2, "other": 3})).shown

    assert (shown.success, "5" in shown.text) == (True, True)
    assert [(event.source, event.mcp_server) for event in ours] == [("native", None)]


@pytest.mark.requirement("BRG-1")
def test_of_many_tools_a_model_is_given_those_that_find_and_call_the_others(tmp_path: Path):
    tools = json.dumps([a_tool("act", description="Acts as it is told."), a_tool("rest", description="Does nothing.")])
    config = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log", tools)}, catalog={"search_above": 1})
    with McpIntegrationSection(session=a_session(), runtime=Runtime.from_file(config)) as section:
        ours = heard_by(section.session, McpToolInvoked)
        calls = (
            ("search_tools", {"words": "acts as told"}),
            ("call_tool", {"name": "work_act", "arguments": {"n": 1}}),
        )
        told = run(tmp_path, section, *calls)

    assert list(told.tools) == ["search_tools", "call_tool"]
    assert "work_act" in told.shown[0].text
    assert [one.success for one in told.shown] == [True, True]
    assert [event.mcp_server for event in ours] == [None, "work"]
    assert sent(tmp_path) == [{"n": 1}]


def test_a_section_with_some_of_the_servers_finds_none_of_the_others(tmp_path: Path):
    servers = {name: entry("obeying", tmp_path / name) for name in ("one", "two")}
    runtime = Runtime.from_file(write_yaml(tmp_path, servers, catalog={"search_above": 1}))
    chosen = [runtime.config.servers["two"]]
    with McpIntegrationSection(servers=chosen, session=a_session(), runtime=runtime) as section:
        assert [tool.name for tool in section.tools()] == ["two_act"]


@pytest.mark.requirement("BRG-3")
def test_two_sections_of_a_session_tell_of_each_call_once(tmp_path: Path):
    session = a_session()
    one = McpIntegrationSection(servers=[obeying(tmp_path / "one", name="one")], session=session, key="one")
    two = McpIntegrationSection(servers=[obeying(tmp_path / "two", name="two")], session=session, key="two")
    with one, two:
        ours = heard_by(session, McpToolInvoked)
        ran(tmp_path, a_prompt(one, two), session, [("one_act", {}), ("two_act", {})])

    assert [event.mcp_server for event in ours] == ["one", "two"]


@pytest.mark.requirement("BRG-3")
def test_a_handler_reaches_tools_resources_and_prompts_through_the_pool(tmp_path: Path):
    greeting = {"name": "greet", "arguments": [{"name": "who"}]}
    server = scripted(
        tmp_path, life(uris=("note:monday",), prompts=(greeting,), scenario={"tools/list": [listing(a_tool("act"))]})
    )
    with connected(server) as section:
        found = section.resources()
        with found.open() as resources:
            work = resources.get(McpConnectionPool).get("work")

            assert [spec.uri for spec in work.resources()] == ["note:monday"]
            assert work.read("note:monday").text == "of work"
            assert [spec.key.tool for spec in work.prompts()] == ["greet"]
            assert work.prompt("greet", {"who": "you"}).text == "user: Hi."
            assert [spec.name for spec in work.tools()] == ["work_act"]
            assert (work.name, work.config) == ("work", server)


@pytest.mark.requirement("BRG-3")
def test_what_fails_there_is_raised_in_the_words_of_this_door(tmp_path: Path):
    refusal = {"code": -32000, "message": "not today", "data": {"try": "tomorrow"}}
    server = acting(tmp_path, timeouts=Timeouts(call=0.3, close=1))
    with connected(server) as section:
        pool = pool_in(section)
        work = pool.get("work")
        assert isinstance(work.call("work_act", {}).text, str)
        with pytest.raises(McpToolError) as refused:
            work.call("act", {"error": refusal})
        with pytest.raises(McpTimeoutError) as late:
            work.call("act", {"silent": True})
        with pytest.raises(McpConnectionError) as lost:
            work.call("act", {"exit": 3})
        with pytest.raises(McpSchemaError) as unknown:
            work.call("no_such_tool")
        with pytest.raises(McpConnectionError) as stranger:
            pool.get("elsewhere")

    assert (refused.value.server_name, refused.value.tool_name, refused.value.rpc_error) == ("work", "act", refusal)
    assert refused.value.failure is not None
    assert (lost.value.server_name, lost.value.transport) == ("work", server.transport)
    assert (late.value.server_name, late.value.timeout) == ("work", 0.3)
    assert (unknown.value.server_name, unknown.value.tool_name) == ("work", "no_such_tool")
    assert (stranger.value.server_name, stranger.value.transport) == ("elsewhere", None)
    with pytest.raises(McpConnectionError):
        pool.get("work")


def pool_in(section: McpIntegrationSection) -> McpConnectionPool:
    with section.resources().open() as resources:
        return resources.get(McpConnectionPool)


@pytest.mark.requirement("BRG-2")
def test_a_run_that_must_be_over_soon_waits_no_longer_for_a_tool(tmp_path: Path):
    with connected(acting(tmp_path)) as section:
        prompt = a_prompt(section)
        soon = Deadline(expires_at=datetime.now(UTC) + timedelta(seconds=1.2))
        (shown,) = shown_with(tmp_path, prompt, section.session, ("work_act", {"silent": True}), deadline=soon)

    assert not shown["success"]
    assert "no reply to tools/call within" in shown["text"]


def test_progress_of_a_call_beats_for_the_run(tmp_path: Path):
    heart, beats = Heartbeat(), list[int]()
    heart.add_callback(lambda: beats.append(1))
    with connected(acting(tmp_path)) as section:
        (shown,) = shown_with(
            tmp_path, a_prompt(section), section.session, ("work_act", {"progress": [1, 2, 3]}), heartbeat=heart
        )

    assert shown["success"]
    # At least once: news replaces what was not told yet.
    assert beats


def shown_with(folder: Path, prompt: Prompt[Any], session: Session, call: Any, **terms: Any) -> list[dict[str, Any]]:
    answer = adapter(folder, [call]).evaluate(prompt, session=session, **terms)
    return json.loads(answer.text or "")["shown"]


@pytest.mark.requirement("BRG-2")
def test_a_section_of_another_session_is_refused_and_not_used_on_its_behalf(tmp_path: Path):
    with connected(acting(tmp_path)) as section:
        (shown,) = ran(tmp_path, a_prompt(section), a_session(), [("work_act", {})]).shown

    assert not shown.success
    assert "another session" in shown.text
    assert sent(tmp_path) == []


def test_a_result_that_keeps_to_its_limit_is_shown_so_whatever_its_value(tmp_path: Path):
    with McpIntegrationSection(session=a_session(), runtime=Runtime.from_file(configured(tmp_path))) as section:
        invoked = heard_by(section.session, ToolInvoked)
        (shown,) = run(tmp_path, section, ("work_huge", {})).shown

    assert len(shown.text) < 20_000
    assert isinstance(invoked[0].result, McpToolResult)
    value: Any = invoked[0].result.value
    assert value.text == shown.text
