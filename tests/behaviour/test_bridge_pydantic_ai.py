"""PydanticAI's agents use a session's tools: what comes of a call, tools that change, progress, pictures, retries."""

import json
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext, UnexpectedModelBehavior, capture_run_messages
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from bascule import AgentSession, RunStopped
from bascule.bridges.pydantic_ai import ToolProgress, toolset
from servers.actor import PIXEL
from support.bridge_example import blocks, check_shown, printed
from support.bridge_matrix import SCENARIOS, Call, Ran, Scenario, Signal, check, play
from support.live import Living, until
from support.runtime import a_tool, at_work, calls_in, obeying

PAGE, EXAMPLE = "bridge-pydantic-ai.md", "pydantic_ai"

SIGNALS: dict[str, Signal] = {"success": "result", "failed": "error", "retried": "retry"}


def making(*calls: Call) -> FunctionModel:
    """A model that makes these calls, one after the other, and then says that it is done."""
    left = iter(calls)

    def answer(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        call = next(left, None)
        return ModelResponse([TextPart("done") if call is None else ToolCallPart(call[0], dict(call[1]))])

    return FunctionModel(answer)


def returns(messages: list[ModelMessage]) -> list[ToolReturnPart[Any]]:
    """What the model was shown of its calls."""
    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


def signal(part: ToolReturnPart[Any]) -> Signal:
    return "image" if part.files else SIGNALS[part.outcome]


async def drive(session: AgentSession, calls: tuple[Call, ...]) -> Ran:
    agent = Agent(making(*calls), toolsets=[toolset(session)])
    stopped = False
    with capture_run_messages() as messages:
        try:
            await agent.run("go on")
        except RunStopped:
            stopped = True
    parts = returns(messages)
    return Ran(tuple(signal(part) for part in parts), tuple(part.model_response_str() for part in parts), stopped)


@pytest.mark.requirement("BRG-1", "BRG-2")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
async def test_an_outcome_means_what_the_table_says(tmp_path: Path, scenario: Scenario):
    check("PydanticAI", scenario, await play(tmp_path, scenario, drive))


async def test_a_picture_is_shown_as_itself_beside_the_words(tmp_path: Path):
    content = [{"type": "text", "text": "look"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}]
    async with at_work(obeying(tmp_path / "log")) as session:
        run = await Agent(making(("work_act", {"result": {"content": content}})), toolsets=[toolset(session)]).run("go")

    (part,) = returns(run.all_messages())
    (picture,) = part.files
    assert isinstance(picture, BinaryContent)
    assert (picture.base64, picture.media_type) == (PIXEL, "image/png")
    assert "look" in part.model_response_str()


@pytest.mark.requirement("BRG-2")
async def test_a_model_may_try_again_as_often_as_it_is_told_and_then_the_run_ends(tmp_path: Path):
    locked = {
        "content": [{"type": "text", "text": "locked"}],
        "isError": True,
        "structuredContent": {"retriable": True},
    }
    calls = [("work_act", {"result": locked})] * 5
    async with at_work(obeying(tmp_path / "log")) as session:
        with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries count of 2"):
            await Agent(making(*calls), toolsets=[toolset(session, max_retries=2)]).run("go")

    assert len(calls_in(tmp_path / "log")) == 3


@pytest.mark.requirement("BRG-2")
async def test_failures_to_move_on_from_use_up_no_retries(tmp_path: Path):
    broken = {"content": [{"type": "text", "text": "no such table"}], "isError": True}
    calls = [("work_act", {"result": broken})] * 5
    async with at_work(obeying(tmp_path / "log")) as session:
        run = await Agent(making(*calls), toolsets=[toolset(session, max_retries=0)]).run("go")

    assert [part.outcome for part in returns(run.all_messages())] == ["failed"] * 5


async def test_arguments_that_do_not_fit_go_back_to_the_model_and_never_to_the_server(tmp_path: Path):
    strict = a_tool("say", {"properties": {"text": {"type": "string"}}, "required": ["text"]})
    calls = (("work_say", {"text": 5}), ("work_say", {"text": "well"}))
    async with at_work(obeying(tmp_path / "log", strict)) as session:
        run = await Agent(making(*calls), toolsets=[toolset(session)]).run("go")

    assert [part.outcome for part in returns(run.all_messages())] == ["retried", "success"]
    assert [call["arguments"] for call in calls_in(tmp_path / "log")] == [{"text": "well"}]


async def test_arguments_that_are_no_object_go_back_to_the_model(tmp_path: Path):
    answers = iter([[ToolCallPart("work_act", "[1, 2]")], [TextPart("done")]])
    model = FunctionModel(lambda _messages, _info: ModelResponse(next(answers)))
    async with at_work(obeying(tmp_path / "log")) as session:
        run = await Agent(model, toolsets=[toolset(session)]).run("go")

    assert [part.outcome for part in returns(run.all_messages())] == ["retried"]
    assert calls_in(tmp_path / "log") == []


@pytest.mark.requirement("BRG-1")
async def test_tools_that_change_are_followed_in_the_same_run():
    server, seen = Living("one", ttl=3_600_000), list[list[str]]()
    async with at_work(server.config()) as session:

        async def answer(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            names = [tool.name for tool in info.function_tools]
            seen.append(names)
            if len(seen) > 2:
                return ModelResponse([TextPart("done")])
            if len(seen) == 1:
                await server.become("two")
                await until(session.offered, lambda specs: specs[0].name == "work_two")
                # The run has been told of the old one, and is answered as anybody who calls it now.
            return ModelResponse([ToolCallPart(names[0], {})])

        run = await Agent(FunctionModel(answer), toolsets=[toolset(session)]).run("go")

    assert seen == [["work_one"], ["work_two"], ["work_two"]]
    gone, there = returns(run.all_messages())
    assert (gone.outcome, there.outcome) == ("retried", "success")
    assert "was removed by its server" in gone.model_response_str()


async def test_progress_is_told_in_the_stream_of_the_run(tmp_path: Path):
    told = list[ToolProgress]()

    async def listen(_ctx: RunContext[Any], events: AsyncIterable[Any]) -> None:
        told.extend([event async for event in events if isinstance(event, ToolProgress)])

    async with at_work(obeying(tmp_path / "log")) as session:
        agent = Agent(streaming(("work_act", {"progress": [1]})), toolsets=[toolset(session)])
        await agent.run("go", event_stream_handler=listen)

    assert [(event.tool_name, event.progress, event.total) for event in told] == [("work_act", 1, None)]


def streaming(call: Call) -> FunctionModel:
    async def stream(messages: list[ModelMessage], _info: AgentInfo) -> AsyncGenerator[str | dict[int, DeltaToolCall]]:
        if returns(messages):
            yield "done"
        else:
            yield {0: DeltaToolCall(call[0], json.dumps(call[1]), tool_call_id="c")}

    return FunctionModel(stream_function=stream)


async def test_what_a_tool_may_do_can_be_asked_of_its_definition(tmp_path: Path):
    tools = a_tool("look", annotations={"readOnlyHint": True}), a_tool("touch")
    server = obeying(tmp_path / "log", *tools, permissions={"look": frozenset({"read"})})
    seen = list[str]()

    def answer(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(tool.name for tool in info.function_tools)
        return ModelResponse([TextPart("done")])

    async with at_work(server) as session:
        reading = toolset(session).filtered(lambda _ctx, tool: (tool.metadata or {})["permissions"] == ["read"])
        await Agent(FunctionModel(answer), toolsets=[reading]).run("go")

    assert seen == ["work_look"]


async def test_structured_content_is_given_as_it_is_to_who_asks_for_it(tmp_path: Path):
    reply = {"content": [], "structuredContent": {"rows": [1, 2]}}
    call = ("work_act", {"result": reply})
    async with at_work(obeying(tmp_path / "log")) as session:
        as_text = await Agent(making(call), toolsets=[toolset(session)]).run("go")
        as_value = await Agent(making(call), toolsets=[toolset(session, structured=True)]).run("go")

    assert returns(as_text.all_messages())[0].content == "rows:\n- 1\n- 2"
    assert returns(as_value.all_messages())[0].content == {"rows": [1, 2]}


WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {sys.argv[1]!r}", name=sys.argv[1])
sys.meta_path.insert(0, Missing())
try:
    import bascule.bridges.pydantic_ai
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.requirement("BRG-5")
@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("pydantic_ai", "PydanticAI is not installed: pip install 'bascule[pydantic-ai]'"),
        # What PydanticAI itself lacks is another fault, with another remedy.
        ("opentelemetry", "No module named 'opentelemetry'"),
    ],
)
@pytest.mark.long
def test_without_the_framework_one_line_says_how_to_install_it(package: str, told: str):
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, package], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == f"{told}\n"


@pytest.mark.requirement("BRG-1")
@pytest.mark.long
async def test_the_example_is_what_the_page_shows_and_does_what_it_says(tmp_path: Path):
    check_shown(PAGE, EXAMPLE)
    (told,) = blocks(PAGE, "console")

    assert f"$ python agent.py\n{await printed(EXAMPLE, tmp_path)}" == told
