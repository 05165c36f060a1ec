"""The same tools without a framework: a gateway that lists, calls and closes, and what each outcome is there."""

import asyncio
import re
from pathlib import Path

import pytest

from bascule import RunStopped, Runtime
from bascule.bridges.plain import MCPToolGateway, Reply, ToolInfo
from bascule.core.events import ToolInvoked
from bascule.core.outcome import FailureKind
from servers.actor import PIXEL
from support import warm
from support.bridge_matrix import SCENARIOS, Call, Ran, Scenario, Signal, check, configured, heard
from support.children import children
from support.runtime import Events, bad
from support.scenarios import entry, write_yaml
from support.threads import in_thread, interrupted_once, waited_for
from support.waiting import fail_after


def signal_of(reply: Reply) -> Signal:
    if reply["isError"]:
        return "error"
    return "image" if any(block["type"] == "image" for block in reply["content"]) else "result"


def run(gateway: MCPToolGateway, calls: tuple[Call, ...]) -> Ran:
    """An agent's loop, with a model that makes these calls."""
    replies: list[Reply] = []
    for name, arguments in calls:
        try:
            replies.append(gateway.call(name, dict(arguments)))
        except RunStopped:
            return Ran((), (), stopped=True)
    return Ran(tuple(signal_of(reply) for reply in replies), tuple(reply.text for reply in replies))


def gateway_in(folder: Path) -> MCPToolGateway:
    return MCPToolGateway(configured(folder), user_id="alice", session_id="s-1")


@pytest.mark.requirement("BRG-1", "BRG-2")
@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one.name != "aborted"], ids=lambda one: one.name)
def test_each_outcome_is_what_the_table_says(tmp_path: Path, scenario: Scenario):
    with gateway_in(tmp_path) as gateway:
        check("plain", scenario, in_thread(lambda: run(gateway, scenario.calls)).result(15))


ABORTED = next(one for one in SCENARIOS if one.name == "aborted")


@pytest.mark.requirement("BRG-2", "EXE-2")
def test_closing_while_a_call_is_made_stops_the_run_and_the_server_is_told(tmp_path: Path):
    with gateway_in(tmp_path) as gateway:
        running = in_thread(lambda: run(gateway, ABORTED.calls))
        waited_for(lambda: "tools/call" in heard(tmp_path))
        gateway.close()

        check("plain", ABORTED, running.result(15))
    assert heard(tmp_path)[-1] == "notifications/cancelled"


@pytest.mark.requirement("BRG-2", "EXE-2")
def test_interrupting_a_call_stops_the_run_and_the_server_is_told(tmp_path: Path):
    with gateway_in(tmp_path) as gateway:
        with pytest.raises(KeyboardInterrupt), interrupted_once(lambda: "tools/call" in heard(tmp_path)):
            run(gateway, ABORTED.calls)
        # Before the links close, which would end the call as well.
        waited_for(lambda: "notifications/cancelled" in heard(tmp_path))
        assert gateway.call("work_ok", {"text": "and on"}).text == "and on"


@pytest.mark.requirement("BRG-1")
def test_tools_are_listed_with_what_a_model_needs(tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("actor", tmp_path, "work"), "echo": entry("echo")})
    with MCPToolGateway(path) as gateway:
        listed = {tool.name: tool for tool in gateway.list_tools()}

    assert {"ok", "image", "echo"} <= listed.keys()
    assert listed["echo"] == ToolInfo(
        "echo",
        "Gives back what it is given.",
        {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    )


@pytest.mark.requirement("BRG-1")
def test_a_reply_is_the_servers_with_pictures_and_structured_content(tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("actor", tmp_path, "work"), "mirror": entry("mirror")})
    with MCPToolGateway(path) as gateway:
        picture, portrait = gateway.call("image"), gateway.call("look")

    assert picture == {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}], "isError": False}
    assert portrait["structuredContent"]["files"] == [0, 1, 2]
    assert portrait["isError"] is False


@pytest.mark.requirement("BRG-1", "EXE-4")
def test_a_call_takes_the_governed_path_and_leaves_one_event(tmp_path: Path, events: Events):
    path = write_yaml(tmp_path, {"work": entry("actor", tmp_path, "work")})
    with MCPToolGateway(Runtime.from_file(path, sinks=[events.append]), user_id="alice", session_id="s-1") as gateway:
        assert gateway.call("ok", {"text": "hi"}).text == "hi"
        assert gateway.call("ok", {"words": "hi"})["isError"] is True
        assert gateway.call("nothing")["isError"] is True

    told = [event for event in events if isinstance(event, ToolInvoked)]
    assert [(event.outcome.ok, str(event.principal)) for event in told] == [
        (True, "alice/s-1"),
        (False, "alice/s-1"),
        (False, "alice/s-1"),
    ]


@pytest.mark.requirement("BRG-1", "EXE-3")
def test_what_went_wrong_can_be_read_from_the_reply(tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("actor", tmp_path, "work")})
    with MCPToolGateway(path) as gateway:
        retryable, wrong = gateway.call("retryable"), gateway.call("ok", {})

    assert retryable["structuredContent"] == {"message": "the table is locked", "retriable": True}
    assert bad(retryable.outcome, FailureKind.TOOL_ERROR).retriable is True
    assert bad(wrong.outcome, FailureKind.INVALID_ARGUMENTS).tool == "ok"
    assert "text" in wrong.text


@pytest.mark.requirement("BRG-1", "LNK-10")
async def test_it_can_be_used_where_an_event_loop_runs_and_leaves_nothing(tmp_path: Path):
    before = children()
    path = write_yaml(tmp_path, {"work": entry("actor", tmp_path, "work")})
    with MCPToolGateway(path) as gateway:
        replies = await asyncio.gather(
            *(asyncio.to_thread(gateway.call, "ok", {"text": str(number)}) for number in range(20))
        )

    assert [reply.text for reply in replies] == [str(number) for number in range(20)]
    assert children() == before


ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/bridge-plain.md").read_text(encoding="utf-8")


@pytest.mark.requirement("BRG-1")
async def test_the_example_runs_and_prints_what_its_page_says(tmp_path: Path):
    example = ROOT / "examples/plain/agent.py"
    process = await asyncio.create_subprocess_exec(
        *(warm.python(), str(example)), cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with fail_after(60, "the example"):
        out, err = await process.communicate()
    (shown,) = re.findall(r"^\$ python examples/plain/agent.py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

    assert (out.decode(), err.decode(), process.returncode) == (shown, "", 0)
    assert f"```python\n{example.read_text(encoding='utf-8')}```" in PAGE


@pytest.mark.requirement("BRG-1", "CAT-8")
def test_where_tools_are_many_it_lists_the_two_that_find_and_call_them(tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("actor", tmp_path, "work")}, catalog={"search_above": 3})
    with MCPToolGateway(path) as gateway:
        assert [tool.name for tool in gateway.list_tools()] == ["search_tools", "call_tool"]
        assert "work_ok" in gateway.call("search_tools", {"words": "says what it is told"}).text
        called = gateway.call("call_tool", {"name": "work_ok", "arguments": {"text": "hi"}})
        assert (called["isError"], called.text) == (False, "hi")
        # By its full name it can be called as ever.
        assert gateway.call("work_ok", {"text": "hi"}).text == "hi"
