"""An agent session's tools in LangChain agents, driven by its own fake model."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolErrorMiddleware, ToolRetryMiddleware
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from bascule import AgentSession, RunStopped
from bascule.bridges.langchain import live_tools, tools
from bascule.config import ServerConfig
from bascule.core.errors import UsageError
from servers.actor import PIXEL
from support.absent import last_line_without
from support.bridge_example import blocks, check_shown, printed
from support.bridge_matrix import SCENARIOS, Call, Ran, Scenario, Signal, check, play
from support.langchain_models import ASKED, answers, answers_in, caller
from support.live import Living, until
from support.runtime import a_tool, at_work, obeying
from support.scenarios import scripted
from support.servers import received

FATAL = {"content": [{"type": "text", "text": "it is gone"}], "isError": True, "_meta": {"dev.bascule/fatal": True}}


@pytest.fixture(autouse=True)
def untraced(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


async def drive(session: AgentSession, calls: tuple[Call, ...]) -> Ran:
    try:
        shown = await answers(caller(*([call] for call in calls)), await tools(session))
    except RunStopped:
        return Ran((), (), stopped=True)
    return Ran(tuple(signal(one) for one in shown), tuple(str(one.content) for one in shown))


def signal(message: ToolMessage) -> Signal:
    if message.status == "error":
        return "error"
    pictures = [block for block in message.content_blocks if block["type"] == "image" and block.get("base64") == PIXEL]
    return "image" if pictures else "result"


@pytest.mark.requirement("BRG-1", "BRG-2")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
async def test_an_outcome_means_what_the_table_says(tmp_path: Path, scenario: Scenario):
    check("LangChain", scenario, await play(tmp_path, scenario, drive))


def work(folder: Path, *tools: Any, **config: Any) -> ServerConfig:
    return obeying(folder / "log", *tools, **config)


def sent(folder: Path) -> list[Any]:
    """The arguments of each call that reached the server."""
    return [one["params"]["arguments"] for one in received(folder / "log") if one.get("method") == "tools/call"]


def act(**arguments: Any) -> Call:
    return "work_act", arguments


@pytest.mark.requirement("BRG-1")
async def test_a_program_finds_the_whole_outcome_beside_what_the_model_is_shown(tmp_path: Path):
    content, rows = [{"type": "text", "text": "{}"}], {"rows": [1, 2]}
    reply = {"content": content, "structuredContent": rows}
    async with at_work(work(tmp_path)) as session:
        model = caller([act(result=reply)], [act(result={**reply, "isError": True})])
        well, failed = await answers(model, await tools(session))

    assert (well.content, well.status) == ("rows:\n- 1\n- 2", "success")
    assert well.artifact == {"server": "work", "tool": "act", "lane": "open", "structured": rows, "content": content}
    assert (failed.content, failed.status) == ("{}", "error")
    assert (failed.artifact["kind"], failed.artifact["cause"]) == ("tool_error", rows)


DEEP: Any = json.loads("[" * 190 + "]" * 190)


@pytest.mark.requirement("BRG-1")
@pytest.mark.parametrize("odd", [2**70, DEEP, "\N{GRINNING FACE}"], ids=["many bits", "deep", "emoji"])
async def test_whatever_a_server_sends_can_be_kept_by_a_checkpointer(tmp_path: Path, odd: Any):
    reply = {"content": [{"type": "text", "text": "odd"}], "structuredContent": {"value": odd}}
    replies = {"tools/call": [{"result": reply}, {"result": {**reply, "isError": True}}]}
    config: Any = {"configurable": {"thread_id": "t-1"}}
    async with at_work(scripted(tmp_path, replies)) as session:
        agent = create_agent(caller([act()], [act()]), await tools(session), checkpointer=InMemorySaver())
        ran = answers_in((await agent.ainvoke(ASKED, config))["messages"])
        kept = answers_in((await agent.aget_state(config)).values["messages"])

    assert [one.artifact for one in kept] == [one.artifact for one in ran]
    assert [(one.status, one.artifact["tool"]) for one in kept] == [("success", "act"), ("error", "act")]


@pytest.mark.requirement("BRG-1")
async def test_arguments_that_are_called_like_something_of_langchain_arrive(tmp_path: Path):
    names = (
        "config",
        "run_manager",
        "callbacks",
        "runtime",
        "state",
        "store",
        "tool_call_id",
        "self",
        "args",
        "kwargs",
    )
    arguments = dict.fromkeys(names, "mine")
    async with at_work(work(tmp_path)) as session:
        (shown,) = await answers(caller([act(**arguments)]), await tools(session))

    assert shown.status == "success"
    assert sent(tmp_path) == [arguments]


@pytest.mark.requirement("BRG-2")
async def test_an_argument_that_the_tool_does_not_know_is_told_and_not_dropped(tmp_path: Path):
    strict = a_tool("act", {"properties": {"text": {"type": "string"}}, "additionalProperties": False})
    async with at_work(work(tmp_path, strict)) as session:
        (shown,) = await answers(caller([act(text="a", txet="b")]), await tools(session))

    assert (shown.status, shown.artifact["kind"]) == ("error", "invalid_arguments")
    assert "txet" in str(shown.content)
    assert sent(tmp_path) == []


def caught(_error: Exception, _request: Any) -> str:
    return "never mind"


@pytest.mark.requirement("BRG-2")
@pytest.mark.parametrize(
    "middleware", [ToolRetryMiddleware(initial_delay=0), ToolErrorMiddleware(caught)], ids=["retries", "catches"]
)
async def test_a_fatal_error_is_neither_repeated_nor_caught_by_middleware(tmp_path: Path, middleware: Any):
    async with at_work(work(tmp_path, trust=frozenset({"fatal"}))) as session:
        with pytest.raises(RunStopped, match="it is gone") as stopped:
            await answers(caller([act(result=FATAL)]), await tools(session), middleware=[middleware])

    assert (stopped.value.code, stopped.value.failure.kind) == ("BSC-700", "fatal")
    assert len(sent(tmp_path)) == 1


@pytest.mark.requirement("BRG-2")
async def test_a_fatal_error_ends_any_graph_also_one_that_handles_all_errors_of_tools(tmp_path: Path):
    async with at_work(work(tmp_path, trust=frozenset({"fatal"}))) as session:
        graph = StateGraph(MessagesState).add_node(ToolNode(await tools(session), handle_tool_errors=True))
        called = AIMessage("", tool_calls=[{"name": "work_act", "args": {"result": FATAL}, "id": "1"}])
        with pytest.raises(RunStopped, match="it is gone"):
            await graph.add_edge(START, "tools").compile().ainvoke({"messages": [called]})


@pytest.mark.requirement("BRG-2")
async def test_a_fatal_error_beside_a_call_that_goes_well_ends_the_run(tmp_path: Path):
    model = caller([act(text="fine"), act(result=FATAL)])
    async with at_work(work(tmp_path, trust=frozenset({"fatal"}))) as session:
        with pytest.raises(RunStopped, match="it is gone"):
            await answers(model, await tools(session))

    assert len(model.given) == 1


@pytest.mark.requirement("BRG-2")
async def test_a_thread_that_was_ended_stands_before_the_call_that_ended_it(tmp_path: Path):
    config: Any = {"configurable": {"thread_id": "t-1"}}
    async with at_work(work(tmp_path, trust=frozenset({"fatal"}))) as session:
        agent = create_agent(caller([act(result=FATAL)]), await tools(session), checkpointer=InMemorySaver())
        with pytest.raises(RunStopped, match="it is gone"):
            await agent.ainvoke(ASKED, config)
        kept = await agent.aget_state(config)

    assert (kept.next, answers_in(kept.values["messages"])) == (("tools",), [])


@pytest.mark.requirement("BRG-1")
async def test_progress_is_in_the_stream_of_the_graph(tmp_path: Path):
    async with at_work(work(tmp_path)) as session:
        agent = create_agent(caller([act(progress=[0.5], result={"content": []})]), await tools(session))
        said = [told async for told in agent.astream(ASKED, stream_mode="custom")]

    told = {"type": "tool_progress", "tool": "work_act", "tool_call_id": "1"}
    assert said == [{**told, "progress": 0.5, "total": None, "message": None}]


async def one_tool(session: AgentSession) -> BaseTool:
    (made,) = await tools(session)
    return made


@pytest.mark.requirement("BRG-1")
async def test_a_tool_called_by_hand_gives_what_a_model_would_be_shown_or_raises_as_it_is_told(tmp_path: Path):
    failing = {"result": {"content": [{"type": "text", "text": "no such table"}], "isError": True}}
    async with at_work(work(tmp_path)) as session:
        made = await one_tool(session)
        assert await made.ainvoke({"text": "hello"}) == '{"text": "hello"}'
        assert await made.ainvoke(failing) == "no such table"
        made.handle_tool_error = False
        with pytest.raises(ToolException, match="no such table"):
            await made.ainvoke({"type": "tool_call", "id": "1", "name": "work_act", "args": failing})


@pytest.mark.requirement("BRG-1")
async def test_a_synchronous_call_says_in_one_line_what_to_do(tmp_path: Path):
    async with at_work(work(tmp_path)) as session:
        made = await one_tool(session)
        with pytest.raises(
            UsageError, match=r"^work_act can only be called asynchronously: use `ainvoke` or `astream`$"
        ):
            made.invoke({})
    assert sent(tmp_path) == []


class Heard(AsyncCallbackHandler):
    """What LangChain tells of the tools that a run calls."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def on_tool_start(self, serialized: dict[str, Any], input_str: str, **more: Any) -> None:
        self.told.append((serialized["name"], more["inputs"], more["tool_call_id"], more["metadata"]["who"]))

    async def on_tool_end(self, output: Any, **_: Any) -> None:
        self.told.append(output.status)


@pytest.mark.requirement("BRG-1")
async def test_callbacks_and_the_config_of_a_run_reach_our_tools_as_any_other(tmp_path: Path):
    heard = Heard()
    async with at_work(work(tmp_path)) as session:
        agent = create_agent(caller([act(text="a")], [act(error=1)]), await tools(session))
        await agent.ainvoke(ASKED, {"callbacks": [heard], "metadata": {"who": "me"}})

    assert heard.told == [
        ("work_act", {"text": "a"}, "1", "me"), "success", ("work_act", {"error": 1}, "2", "me"), "error",
    ]  # fmt: skip


@pytest.mark.requirement("BRG-1")
async def test_live_tools_follow_a_server_that_changes_its_list_in_the_midst_of_a_run():
    server = Living("old", ttl=3_600_000)
    async with at_work(server.config("new")) as session:

        @tool
        async def grow() -> str:
            """Has the server become another one."""
            await server.become("new")
            await known(session, "work_new")
            return "grown"

        model = caller([("work_old", {})], [("grow", {})], [("work_new", {}), ("work_old", {})])
        shown = await answers(model, [grow], middleware=[live_tools(session)])

    assert model.given == [["grow", "work_old"]] * 2 + [["grow", "work_new"]] * 2
    assert [one.status for one in shown] == ["success", "success", "success", "error"]


@pytest.mark.requirement("BRG-1")
async def test_an_agent_may_be_made_with_live_tools_alone(tmp_path: Path):
    async with at_work(work(tmp_path)) as session:
        (shown,) = await answers(caller([act(text="a")]), [], middleware=[live_tools(session)])

    assert (shown.status, sent(tmp_path)) == ("success", [{"text": "a"}])


async def known(session: AgentSession, name: str) -> None:
    async def names() -> list[str]:
        return [spec.name for spec in await session.tools()]

    await until(names, lambda seen: name in seen)


@pytest.mark.requirement("BRG-5")
@pytest.mark.parametrize(
    ("package", "module"),
    [("langchain_core", ""), ("langgraph", ""), ("langchain", ".middleware")],
    ids=["langchain_core", "langgraph", "langchain"],
)
@pytest.mark.long
def test_without_langchain_one_line_says_how_to_install_it(package: str, module: str):
    assert last_line_without(package, f"bascule.bridges.langchain{module}") == (
        "ModuleNotFoundError: LangChain is not installed: pip install 'bascule[langchain]'"
    )


@pytest.mark.long
@pytest.mark.requirement("BRG-1")
async def test_the_example_is_the_one_on_the_page_and_prints_what_that_shows(tmp_path: Path):
    check_shown("bridge-langchain.md", "langchain")

    assert blocks("bridge-langchain.md", "console") == ["$ python agent.py\n" + await printed("langchain", tmp_path)]
