"""Agents of the Claude Agent SDK use a session's tools. The SDK and the CLI that it drives are the real ones; the model
that the CLI asks is ours, on this machine."""

import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, query

from bascule import AgentSession, RunStopped
from bascule.bridges.claude_sdk import options, sdk_server, tool_names, watched
from bascule.config import ServerConfig
from support import waiting, warm
from support.bridge_example import blocks, check_shown, printed
from support.bridge_matrix import SCENARIOS, Call, Ran, Scenario, Signal, check, play
from support.fake_claude import FakeClaude, fake_claude, results
from support.live import Living, until
from support.runtime import at_work, obeying
from support.servers import methods
from support.waiting import fail_after

PAGE, EXAMPLE = "bridge-claude-sdk.md", "claude_sdk"

PATIENCE = 120
"""Seconds for a run. The CLI takes two to start, and many where others need the processors."""


def content_of(block: dict[str, Any]) -> list[dict[str, Any]]:
    content = block.get("content", [])
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def signal(block: dict[str, Any]) -> Signal:
    if block.get("is_error"):
        return "error"
    return "image" if any(part["type"] == "image" for part in content_of(block)) else "result"


def words(block: dict[str, Any]) -> str:
    return "\n".join(part["text"] for part in content_of(block) if part["type"] == "text")


def ran(model: FakeClaude, *, stopped: bool) -> Ran:
    return Ran(tuple(signal(block) for block in model.shown), tuple(map(words, model.shown)), stopped)


async def drive(folder: Path, session: AgentSession, calls: tuple[Call, ...]) -> Ran:
    async with fake_claude(*calls) as model:
        made = options(session, **model.options(folder))
        stopped = False
        try:
            async for _ in watched(query(prompt="go on", options=made), made):
                pass
        except RunStopped:
            stopped = True
    return ran(model, stopped=stopped)


@pytest.mark.requirement("BRG-1", "BRG-2")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
@pytest.mark.long
async def test_an_outcome_means_what_the_table_says(tmp_path: Path, scenario: Scenario):
    outcome = await play(tmp_path, scenario, partial(drive, tmp_path), within=PATIENCE)
    check("Claude Agent SDK", scenario, outcome)


FATAL = {
    "content": [{"type": "text", "text": "the disk is gone"}],
    "isError": True,
    "_meta": {"dev.bascule/fatal": True},
}


def deadly(log: Path) -> ServerConfig:
    return obeying(log, trust=frozenset({"fatal"}))


@pytest.mark.requirement("BRG-2")
@pytest.mark.long
async def test_no_model_is_asked_once_a_run_is_to_end_and_the_next_one_begins_as_ever(tmp_path: Path):
    calls = ("work_act", {"result": FATAL}), ("work_act", {"text": "well"})
    async with at_work(deadly(tmp_path / "log"), within=PATIENCE) as session, fake_claude(*calls) as model:
        made = options(session, **model.options(tmp_path))
        async with ClaudeSDKClient(made) as client:
            await client.query("go on")
            with pytest.raises(RunStopped, match="the disk is gone") as ended:
                _ = [message async for message in watched(client.receive_response(), made)]
            assert (ended.value.failure.kind, ended.value.failure.tool) == ("fatal", "act")
            assert len(model.asked) == 1

            await client.query("try something else")
            *_, last = [message async for message in watched(client.receive_response(), made)]
            assert isinstance(last, ResultMessage)

    assert [signal(block) for block in model.shown] == ["error", "result"]


class WithHelper(FakeClaude):
    """Has a helper make the call that ends its run."""

    def next_call(self, body: dict[str, Any]) -> Call | None:
        if results(body["messages"]):
            return None
        if HELPER in str(body["system"]):
            return "mcp__tools__work_act", {"result": FATAL}
        return "Agent", {"description": "help", "prompt": "help", "subagent_type": "helper"}


HELPER = "You are the helper."


@pytest.mark.long
@pytest.mark.requirement("BRG-2")
async def test_what_ends_the_run_of_a_subagent_is_raised_when_all_have_ended(tmp_path: Path):
    helper = AgentDefinition(description="Helps.", prompt=HELPER)
    async with at_work(deadly(tmp_path / "log"), within=PATIENCE) as session, fake_claude(kind=WithHelper) as model:
        more = {"tools": ["Agent"], "allowed_tools": ["Agent"], "agents": {"helper": helper}}
        made = options(session, **more, **model.options(tmp_path))
        with pytest.raises(RunStopped, match="the disk is gone"):
            _ = [message async for message in watched(query(prompt="go on", options=made), made)]

    # The helper is not asked again. Whoever sent for it works beside it, and is asked as ever.
    assert len([body for body in model.asked if HELPER in str(body["system"])]) == 1


@pytest.mark.long
async def test_without_its_hooks_the_model_is_shown_even_what_should_end_the_run(tmp_path: Path):
    call = ("work_act", {"result": FATAL})
    async with at_work(deadly(tmp_path / "log"), within=PATIENCE) as session, fake_claude(call) as model:
        made = ClaudeAgentOptions(
            mcp_servers={"tools": sdk_server(session)},
            allowed_tools=await tool_names(session),
            tools=[],
            **model.options(tmp_path),
        )
        *_, last = [message async for message in query(prompt="go on", options=made)]

    assert isinstance(last, ResultMessage)
    assert last.result == "done"
    assert [words(block) for block in model.shown] == ["the disk is gone"]


@pytest.mark.long
async def test_an_agent_has_no_tools_but_the_sessions(tmp_path: Path):
    async with fail_after(PATIENCE), at_work(obeying(tmp_path / "log"), within=PATIENCE) as session:
        async with fake_claude() as model:
            made = options(session, **model.options(tmp_path))
            _ = [message async for message in query(prompt="go on", options=made)]
        names = await tool_names(session)

    (asked,) = model.asked
    assert names == ["mcp__tools__work_act"]
    assert [tool["name"] for tool in asked["tools"] if "Placeholder" not in tool["name"]] == names


@pytest.mark.long
async def test_tools_that_change_are_there_once_the_server_is_turned_off_and_on_and_in_the_next_run(tmp_path: Path):
    server = Living("one", ttl=3_600_000)
    async with at_work(server.config(), within=PATIENCE) as session, fake_claude() as model:
        made = options(session, **model.options(tmp_path))
        async with ClaudeSDKClient(made) as client:
            await client.query("look")
            _ = [message async for message in client.receive_response()]
            await server.become("two")
            await until(session.offered, lambda specs: specs[0].name == "work_two")
            await client.query("look again")
            _ = [message async for message in client.receive_response()]
            await client.toggle_mcp_server("tools", enabled=False)
            await client.toggle_mcp_server("tools", enabled=True)
            await client.query("and again")
            _ = [message async for message in client.receive_response()]
        _ = [message async for message in query(prompt="anew", options=made)]

    # What the CLI has told a model of once, it goes on telling it in that conversation.
    assert model.tools == [["work_one"], ["work_one"], ["work_one", "work_two"], ["work_two"]]


@pytest.mark.long
async def test_an_interrupted_run_takes_its_calls_back(tmp_path: Path):
    log = tmp_path / "log"
    call = ("work_act", {"silent": True})
    async with at_work(obeying(log), within=PATIENCE) as session, fake_claude(call) as model:
        made = options(session, **model.options(tmp_path))
        async with ClaudeSDKClient(made) as client:
            await client.query("go on")
            await waiting.until(lambda: "tools/call" in methods(log), PATIENCE)
            await client.interrupt()
            _ = [message async for message in client.receive_response()]
            await waiting.until(lambda: "notifications/cancelled" in methods(log))


@pytest.mark.requirement("BRG-5")
def test_without_the_framework_one_line_says_how_to_install_it():
    ran = subprocess.run([warm.python(), "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "The Claude Agent SDK is not installed: pip install 'bascule[claude]'\n"


WITHOUT = """
import sys
sys.modules["claude_agent_sdk"] = None
try:
    import bascule.bridges.claude_sdk
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.requirement("BRG-1")
@pytest.mark.long
async def test_the_example_is_what_the_page_shows_and_does_what_it_says(tmp_path: Path):
    check_shown(PAGE, EXAMPLE)
    (told,) = blocks(PAGE, "console")
    async with fake_claude(("notes_add", {"text": 7}), ("notes_add", {"text": "The bridge is down."})) as model:
        shown = await printed(EXAMPLE, tmp_path, **model.environment(tmp_path))

    assert f"$ python agent.py\n{shown}" == told
