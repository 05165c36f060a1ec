"""What the Claude Agent SDK is told of tools and outcomes, and when its runs end. Its own bridge carries the messages."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, HookMatcher
from claude_agent_sdk._internal.sdk_mcp_bridge import SdkMcpBridge

from bascule import AgentSession
from bascule.bridges.claude_sdk import (
    CALL_ID,
    REMEMBERED,
    SessionServer,
    answered,
    hooks,
    listed,
    options,
    sdk_server,
    server_of,
    tool_names,
    watched,
)
from bascule.core.errors import UsageError
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.permission import Permission
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolKey, ToolSpec
from servers.actor import PIXEL
from support.runtime import at_work, calls_in, obeying

SPEC = ToolSpec(
    name="files_read",
    key=ToolKey("files", "read"),
    digest="d",
    description="Reads a file.",
    input_schema={"type": "object"},
    annotations={"readOnlyHint": True, "destructiveHint": False},
    permissions=frozenset({Permission.READ}),
)
FATAL = {"content": [{"type": "text", "text": "gone"}], "isError": True, "_meta": {"dev.bascule/fatal": True}}
GONE = ToolFailure(FailureKind.FATAL, "BSC-702", "gone")
VERSION = "2025-11-25"


class Cli:
    """The other end of the SDK's bridge."""

    def __init__(self, bridge: SdkMcpBridge) -> None:
        self._bridge = bridge
        self._number = 0

    async def ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        reply = await self._bridge.handle({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert reply is not None
        return reply["result"]

    async def call(self, name: str, arguments: dict[str, Any], call: str | None = "c-1") -> Any:
        meta = {} if call is None else {"_meta": {CALL_ID: call}}
        return await self.ask("tools/call", name=name, arguments=arguments, **meta)


@asynccontextmanager
async def cli_of(server: SessionServer) -> AsyncGenerator[Cli]:
    bridge = SdkMcpBridge("tools", server)
    try:
        cli = Cli(bridge)
        known = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "cli", "version": "1"}}
        await cli.ask("initialize", **known)
        await bridge.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield cli
    finally:
        await bridge.aclose()


@asynccontextmanager
async def at_the_cli(log: Path) -> AsyncGenerator[tuple[AgentSession, SessionServer, Cli]]:
    async with at_work(obeying(log, trust=frozenset({"fatal"}))) as session:
        server = SessionServer(session, "tools")
        async with cli_of(server) as cli:
            yield session, server, cli


def batch(*calls: str) -> Any:
    return {
        "hook_event_name": "PostToolBatch",
        "tool_calls": [{"tool_name": "t", "tool_use_id": call} for call in calls],
    }


def result(*content: Any, **more: Any) -> ToolResult:
    return ToolResult({"content": [*content], **more}, "work", "act", Lane.OPEN, {})


async def test_tools_are_listed_and_called_through_the_sdks_own_bridge(tmp_path: Path):
    async with at_the_cli(tmp_path / "log") as (_, _, cli):
        (tool,) = (await cli.ask("tools/list"))["tools"]
        reply = await cli.call("work_act", {"text": "well"})

    assert (tool["name"], tool["inputSchema"]["type"]) == ("work_act", "object")
    assert reply["content"] == [{"type": "text", "text": '{"text": "well"}'}]
    assert not reply.get("isError")


async def test_a_call_that_fails_is_an_error_and_ends_nothing(tmp_path: Path):
    async with at_the_cli(tmp_path / "log") as (_, server, cli):
        reply = await cli.call("work_act", {"error": {"code": -32603, "message": "broken"}})
        unknown = await cli.call("work_acts", {})

    assert reply["isError"]
    assert "broken" in reply["content"][0]["text"]
    assert "did you mean work_act" in unknown["content"][0]["text"]
    assert server.stops == {}


async def test_a_run_ends_after_the_batch_in_which_a_call_failed_for_good_and_no_other_does(tmp_path: Path):
    async with at_the_cli(tmp_path / "log") as (_, server, cli):
        await cli.call("work_act", {"result": FATAL}, "c-2")

        assert await server.after_batch(batch("c-1"), None, {"signal": None}) == {}
        assert await server.after_batch(batch("c-1", "c-2"), None, {"signal": None}) == {
            "continue_": False,
            "stopReason": "gone",
        }


async def test_a_cli_that_does_not_say_which_call_it_is_has_its_next_batch_end_the_run(tmp_path: Path):
    async with at_the_cli(tmp_path / "log") as (_, server, cli):
        await cli.call("work_act", {"result": FATAL}, None)

        ending: Any = await server.after_batch(batch("c-1"), None, {"signal": None})
        assert ending["continue_"] is False
        assert await server.after_batch(batch("c-2"), None, {"signal": None}) == {}


async def test_failures_that_nobody_asks_for_are_forgotten_at_last(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session:
        server = SessionServer(session, "tools")
        for number in range(REMEMBERED + 3):
            server._remember(f"c-{number}", GONE)

    assert [*server.stops] == [f"c-{number}" for number in range(3, REMEMBERED + 3)]


def test_whether_a_tool_only_reads_is_what_the_operator_says_and_not_its_server():
    assert listed(SPEC)["annotations"] == {"readOnlyHint": True}
    assert listed(replace(SPEC, permissions=frozenset({Permission.WRITE})))["annotations"] == {"readOnlyHint": False}


def test_a_title_is_told_and_stands_in_for_a_description():
    told = listed(replace(SPEC, description="", title="Read"))

    assert (told["description"], told["annotations"]["title"]) == ("Read", "Read")


def test_structured_content_is_shown_once_as_text():
    assert answered(result({"type": "text", "text": "{}"}, structuredContent={"a": 1})) == {
        "content": [{"type": "text", "text": "a: 1"}]
    }


def test_pictures_are_shown_as_themselves():
    picture = {"type": "image", "data": PIXEL, "mimeType": "image/png"}

    assert answered(result(picture))["content"][1:] == [picture]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "data": PIXEL, "mimeType": "image/svg+xml"},
        {"type": "image", "data": "no base64!", "mimeType": "image/png"},
        {"type": "image", "data": "", "mimeType": "image/png"},
        {"type": "image", "mimeType": "image/png"},
        {"type": "audio", "data": PIXEL, "mimeType": "audio/wav"},
    ],
)
def test_what_the_models_api_does_not_take_is_only_named(block: dict[str, Any]):
    assert [part["type"] for part in answered(result(block))["content"]] == ["text"]


def test_nothing_is_shown_as_nothing():
    assert answered(result()) == {"content": []}


async def test_options_hold_the_tools_the_hooks_and_what_else_is_given(tmp_path: Path):
    mine = HookMatcher(hooks=[])
    async with at_work(obeying(tmp_path / "log")) as session:
        made = options(
            session,
            allowed_tools=["Read"],
            hooks={"PostToolBatch": [mine], "Stop": [mine]},
            mcp_servers={"other": {"command": "other"}},
            max_turns=3,
        )
        plain = options(session, server="work", tools=["Read"], strict_mcp_config=False)

    assert isinstance(made.mcp_servers, dict)
    assert [*made.mcp_servers] == ["other", "tools"]
    assert made.allowed_tools == ["Read", "mcp__tools"]
    ours, theirs = (made.hooks or {})["PostToolBatch"]  # pyright: ignore[reportArgumentType] -- the SDK knows it, its types do not
    assert (theirs, ours.hooks) == (mine, [server_of(made.mcp_servers["tools"]).after_batch])  # pyright: ignore[reportOptionalMemberAccess]
    assert (made.hooks or {})["Stop"] == [mine]
    assert (made.tools, made.strict_mcp_config, made.max_turns) == ([], True, 3)
    assert (plain.tools, plain.strict_mcp_config, plain.allowed_tools) == (["Read"], False, ["mcp__work"])


@pytest.mark.parametrize("given", [{"tools": {"command": "x"}}, "servers.json", Path("servers.json")])
async def test_there_must_be_a_place_for_the_server(tmp_path: Path, given: Any):
    async with at_work(obeying(tmp_path / "log")) as session:
        with pytest.raises(UsageError, match="no place for a server called 'tools'"):
            options(session, mcp_servers=given)


@pytest.mark.parametrize("name", ["", "a b", "a__b", "_a", "a_", "ä", "a.b"])
async def test_a_name_that_would_not_come_through_is_refused(tmp_path: Path, name: str):
    async with at_work(obeying(tmp_path / "log")) as session:
        with pytest.raises(UsageError, match="cannot be the name of a server"):
            sdk_server(session, name)


async def test_tools_are_called_by_the_name_of_their_server_too(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session:
        assert await tool_names(session, "my-tools") == ["mcp__my-tools__work_act"]
        assert calls_in(tmp_path / "log") == []


def test_hooks_are_those_of_a_server_of_ours():
    other: Any = {"type": "sdk", "name": "other", "instance": object()}
    with pytest.raises(UsageError, match="another server"):
        hooks(other)


async def test_a_run_in_which_nothing_of_ours_ended_it_is_only_passed_on():
    async def messages() -> AsyncGenerator[Any]:
        yield "one"
        yield "two"

    assert [message async for message in watched(messages(), ClaudeAgentOptions())] == ["one", "two"]
