"""An agent session in agents of the OpenAI Agents SDK, driven by its own scripted model."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, AgentsException, FunctionTool, RunConfig, Runner, function_tool
from agents.items import ToolCallOutputItem
from agents.testing import ScriptedModel, assistant_message, function_call
from mcp.shared.exceptions import MCPError

from bascule import AgentSession, RunStopped
from bascule.bridges.openai_agents import mcp_server, tools
from bascule.config import ServerConfig
from servers.actor import PIXEL
from support.absent import last_line_without
from support.bridge_example import blocks, check_shown, printed
from support.bridge_matrix import SCENARIOS, Call, Ran, Scenario, Signal, check, play
from support.live import Living, until
from support.offers import offering
from support.runtime import a_tool, at_work, obeying
from support.servers import received

UNTRACED = RunConfig(tracing_disabled=True)
FATAL = {"content": [{"type": "text", "text": "it is gone"}], "isError": True, "_meta": {"dev.bascule/fatal": True}}
WAYS = ("server", "functions")
both_ways = pytest.mark.parametrize("way", WAYS)


def caller(*turns: Sequence[tuple[str, Any]]) -> ScriptedModel:
    """One answer a turn, of as many calls as it says, then the end."""
    count = iter(range(1, 100))
    said = [[function_call(name, given, call_id=str(next(count))) for name, given in turn] for turn in turns]
    return ScriptedModel([*said, [assistant_message("That is all.")]])


async def agent_of(session: AgentSession, model: ScriptedModel, way: str = "server", **more: Any) -> Agent[Any]:
    if way == "server":
        return Agent("test", model=model, mcp_servers=[mcp_server(session)], **more)
    return Agent("test", model=model, tools=[*await tools(session)], **more)


async def outputs(agent: Agent[Any]) -> list[Any]:
    """What a whole run of an agent shows its model of the calls it makes."""
    ran = await Runner.run(agent, "Do it.", run_config=UNTRACED)
    raw: list[Any] = [item.raw_item for item in ran.new_items if isinstance(item, ToolCallOutputItem)]
    return [one["output"] for one in raw]


def words(output: Any) -> str:
    if isinstance(output, str):
        return output
    return "\n".join(part.get("text", "") for part in output)


def signal(output: Any) -> Signal:
    if words(output).startswith("Error: "):
        return "error"
    pictures = [] if isinstance(output, str) else [part.get("image_url", "") for part in output]
    return "image" if f"data:image/png;base64,{PIXEL}" in pictures else "result"


@pytest.mark.requirement("BRG-1", "BRG-2")
@both_ways
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
async def test_an_outcome_means_what_the_table_says(tmp_path: Path, scenario: Scenario, way: str):
    async def drive(session: AgentSession, calls: tuple[Call, ...]) -> Ran:
        try:
            shown = await outputs(await agent_of(session, caller(*([call] for call in calls)), way))
        except RunStopped:
            return Ran((), (), stopped=True)
        return Ran(tuple(signal(one) for one in shown), tuple(words(one) for one in shown))

    check("OpenAI Agents", scenario, await play(tmp_path, scenario, drive))


def work(folder: Path, *tools: Any, **config: Any) -> ServerConfig:
    return obeying(folder / "log", *tools, **config)


def sent(folder: Path) -> list[Any]:
    """The arguments of each call that reached the server."""
    return [one["params"]["arguments"] for one in received(folder / "log") if one.get("method") == "tools/call"]


def act(**arguments: Any) -> Call:
    return "work_act", arguments


@pytest.mark.requirement("BRG-2")
@both_ways
async def test_a_fatal_error_ends_the_run_as_ours_with_what_the_sdk_knows_of_it(tmp_path: Path, way: str):
    model = caller([act(text="fine"), act(result=FATAL)])
    config: Any = {"failure_error_function": lambda *_: "never mind"}
    async with at_work(work(tmp_path, trust=frozenset({"fatal"}))) as session:
        agent = await agent_of(session, model, way, mcp_config=config)
        with pytest.raises(RunStopped, match=r"^it is gone$") as stopped:
            await outputs(agent)

    assert (stopped.value.code, stopped.value.failure.kind) == ("BSC-700", "fatal")
    assert isinstance(stopped.value, AgentsException)
    assert stopped.value.run_data is not None
    assert stopped.value.run_data.last_agent is agent
    assert len(model.calls) == 1


@pytest.mark.requirement("BRG-2")
@both_ways
async def test_a_fatal_error_ends_a_streamed_run_too(tmp_path: Path, way: str):
    async with at_work(work(tmp_path, trust=frozenset({"fatal"}))) as session:
        agent = await agent_of(session, caller([act(result=FATAL)]), way)
        streaming = Runner.run_streamed(agent, "Do it.", run_config=UNTRACED)
        with pytest.raises(RunStopped, match=r"^it is gone$"):
            async for _ in streaming.stream_events():
                pass


@pytest.mark.requirement("BRG-2")
@both_ways
@pytest.mark.parametrize("given", ["{", "[]", '"text"'])
async def test_arguments_that_are_no_json_object_are_told_to_the_model(tmp_path: Path, way: str, given: str):
    async with at_work(work(tmp_path)) as session:
        (shown,) = await outputs(await agent_of(session, caller([("work_act", given)]), way))

    assert signal(shown) == "error"
    assert "JSON" in words(shown)
    assert sent(tmp_path) == []


@pytest.mark.requirement("BRG-2")
@both_ways
async def test_an_argument_that_the_tool_does_not_know_is_told_and_not_dropped(tmp_path: Path, way: str):
    strict = a_tool("act", {"properties": {"text": {"type": "string"}}, "additionalProperties": False})
    async with at_work(work(tmp_path, strict)) as session:
        (shown,) = await outputs(await agent_of(session, caller([act(text="a", txet="b")]), way))

    assert signal(shown) == "error"
    assert "txet" in words(shown)
    assert sent(tmp_path) == []


@pytest.mark.requirement("BRG-1")
async def test_strict_schemas_are_the_models_alone_and_ours_stay_what_they_were(tmp_path: Path):
    schema = {"properties": {"text": {"type": "string"}, "more": {"type": "string"}}, "required": ["text"]}
    model = caller([act(text="a")], [act(text="a", more="b")], [act(text="a", more=None)])
    async with at_work(work(tmp_path, a_tool("act", {**schema, "additionalProperties": False}))) as session:
        before = [json.dumps(spec.input_schema) for spec in await session.offered()]
        agent = await agent_of(session, model, mcp_config={"convert_schemas_to_strict": True})
        shown = await outputs(agent)
        after = [json.dumps(spec.input_schema) for spec in await session.offered()]

    (given,) = model.calls[0].tools
    assert isinstance(given, FunctionTool)
    assert given.params_json_schema["required"] == ["text", "more"]
    assert [signal(one) for one in shown] == ["result", "result", "error"]
    assert before == after


@pytest.mark.requirement("BRG-1")
async def test_structured_content_is_shown_as_everywhere_and_pictures_with_it(tmp_path: Path):
    picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    reply = {"content": [{"type": "text", "text": "{}"}, picture], "structuredContent": {"rows": [1]}}
    async with at_work(work(tmp_path)) as session:
        by_server, by_function = [
            await outputs(await agent_of(session, caller([act(result=reply)]), way)) for way in WAYS
        ]

    assert by_server == by_function
    assert [part["type"] for part in by_server[0]] == ["input_text", "input_image"]
    assert by_server[0][0]["text"] == "rows:\n- 1"


@pytest.mark.requirement("BRG-1")
async def test_a_tool_list_that_changes_is_followed_within_a_run():
    server = Living("old", ttl=3_600_000)
    async with at_work(server.config("new")) as session:

        @function_tool
        async def grow() -> str:
            """Has the server become another one."""
            await server.become("new")
            await known(session, "work_new")
            return "grown"

        model = caller([("grow", {})], [("work_new", {})])
        shown = await outputs(Agent("test", model=model, tools=[grow], mcp_servers=[mcp_server(session)]))

    assert [[tool.name for tool in call.tools] for call in model.calls] == [
        ["work_old", "grow"], ["work_new", "grow"], ["work_new", "grow"],
    ]  # fmt: skip
    assert [words(one) for one in shown] == ["grown", "new: Does as told."]


async def known(session: AgentSession, name: str) -> None:
    async def names() -> list[str]:
        return [spec.name for spec in await session.tools()]

    await until(names, lambda seen: name in seen)


@pytest.mark.requirement("BRG-1")
async def test_a_model_of_a_tool_is_made_once_for_as_long_as_its_definition_is_the_same(tmp_path: Path):
    async with at_work(work(tmp_path, a_tool("act", title="Act", annotations={"readOnlyHint": True}))) as session:
        server = mcp_server(session)
        assert server.cached_tools is None
        await server.connect()
        (first,), (second,) = await server.list_tools(), await server.list_tools()
        await server.cleanup()

    assert first is second
    assert server.cached_tools == [first]
    assert (first.title, first.annotations and first.annotations.read_only_hint) == ("Act", True)


@pytest.mark.requirement("BRG-1")
async def test_calls_can_be_made_to_wait_for_approval_by_the_sdk(tmp_path: Path):
    async with at_work(work(tmp_path)) as session:
        server = mcp_server(session, require_approval="always")
        agent: Agent[Any] = Agent("test", model=caller([act(text="a")]), mcp_servers=[server])
        waiting = await Runner.run(agent, "Do it.", run_config=UNTRACED)
        assert (len(waiting.interruptions), sent(tmp_path)) == (1, [])
        state = waiting.to_state()
        state.approve(waiting.interruptions[0])
        await Runner.run(agent, state, run_config=UNTRACED)

    assert sent(tmp_path) == [{"text": "a"}]


@pytest.mark.requirement("BRG-1")
async def test_prompts_and_resources_are_reached_by_the_server(tmp_path: Path):
    asked = {"name": "topic", "description": "What about.", "required": True}
    prompt = {"name": "sum_up", "description": "Sums up.", "arguments": [asked]}
    server = offering(tmp_path, uris=("notes://all",), templates=("notes://{name}",), prompts=(prompt,))
    async with at_work(server) as session:
        door = mcp_server(session)
        (listed,) = (await door.list_prompts()).prompts
        (resource,) = (await door.list_resources()).resources
        (template,) = (await door.list_resource_templates()).resource_templates
        filled = await door.get_prompt(listed.name, {"topic": "bridges"})
        read = await door.read_resource(resource.uri)
        with pytest.raises(MCPError, match="there is no prompt"):
            await door.get_prompt("work_sum")
        with pytest.raises(MCPError, match="nowhere"):
            await door.read_resource("nowhere://at-all")

    assert (listed.name, listed.description) == ("work_sum_up", "Sums up.")
    assert [(one.name, one.required) for one in listed.arguments or ()] == [("topic", True)]
    assert (resource.uri, template.uri_template) == ("notes://all", "notes://{name}")
    assert filled.messages
    assert read.contents


@pytest.mark.requirement("BRG-1")
@both_ways
async def test_servers_are_not_asked_for_progress_that_nobody_could_be_told(tmp_path: Path, way: str):
    async with at_work(work(tmp_path)) as session:
        await outputs(await agent_of(session, caller([act(text="a")]), way))

    (call,) = [one for one in received(tmp_path / "log") if one.get("method") == "tools/call"]
    assert "progressToken" not in call["params"]["_meta"]


@pytest.mark.requirement("BRG-1")
async def test_what_goes_with_a_call_is_for_the_runtime_to_say(tmp_path: Path):
    async with at_work(work(tmp_path)) as session:
        server = mcp_server(session)
        server.tool_meta_resolver = lambda _: {"dev.bascule/fatal": True}
        await outputs(Agent("test", model=caller([act(text="a")]), mcp_servers=[server]))

    (call,) = [one for one in received(tmp_path / "log") if one.get("method") == "tools/call"]
    assert "dev.bascule/fatal" not in call["params"]["_meta"]


@pytest.mark.requirement("BRG-1")
@pytest.mark.long
async def test_the_example_is_the_one_on_the_page_and_prints_what_that_shows(tmp_path: Path):
    check_shown("bridge-openai-agents.md", "openai_agents")

    assert blocks("bridge-openai-agents.md", "console") == [
        "$ python agent.py\n" + await printed("openai_agents", tmp_path)
    ]


@pytest.mark.requirement("BRG-5")
@pytest.mark.long
def test_without_the_sdk_one_line_says_how_to_install_it():
    assert last_line_without("agents", "bascule.bridges.openai_agents") == (
        "ModuleNotFoundError: OpenAI Agents is not installed: pip install 'bascule[openai]'"
    )
