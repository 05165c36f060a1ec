"""Servers of the kit, as their authors write them and as a runtime uses them."""

import os
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.tools import Tool

from bascule import Runtime
from bascule.config import ServerConfig, StdioTransport, Timeouts
from bascule.core.errors import UsageError
from bascule.core.outcome import FailureKind
from bascule.kit import (
    DataSensitivity,
    GovernedServer,
    PrivateData,
    ToolFatalError,
    ToolPermission,
    ToolRetryError,
    create_mcp_server,
    tool_permission,
)
from support.runtime import bad, good
from support.warm import python

SCRIPT = Path(__file__).parents[1] / "servers/kit_script.py"
PERMISSIONS, LABELS = "dev.bascule/permissions", "dev.bascule/labels"


async def call(server: GovernedServer, tool: str, **arguments: Any) -> Any:
    async with Client(server) as client:
        return await client.call_tool(tool, arguments, raise_on_error=False)


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


# Permissions


@pytest.mark.requirement("KIT-3")
async def test_a_tool_that_does_not_say_what_it_does_cannot_be_had() -> None:
    mcp = create_mcp_server("records", development="me")

    def silent() -> str:
        return "ran"

    for register in (mcp.tool, mcp.tool("named"), mcp.add_tool, lambda tool: mcp.add_tool(Tool.from_function(tool))):
        with pytest.raises(UsageError, match="does not say what it does"):
            register(silent)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="does not say what it does"):
        create_mcp_server("another", tools=[silent])

    others = FastMCP("others")
    others.add_tool(silent)
    mcp.mount(others)
    assert await mcp.list_tools() == []
    assert "Unknown tool" in text_of(await call(mcp, "silent"))


@pytest.mark.requirement("KIT-3")
@pytest.mark.parametrize(("lane", "runs"), [(None, False), ("open", False), ("proxied", True), ("sealed", True)])
async def test_what_reaches_out_is_refused_once_something_private_was_seen(
    lane: str | None, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lane is not None:
        monkeypatch.setenv("BASCULE_LANE", lane)
    sent: list[str] = []

    def server() -> GovernedServer:
        mcp = create_mcp_server("records", development="me")

        @mcp.tool
        @tool_permission(ToolPermission.READ)
        async def patients() -> str:
            PrivateData().add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)
            return "Jane Roe"

        @mcp.tool
        @tool_permission(ToolPermission.READ, ToolPermission.CONNECT)
        def send(words: str) -> str:
            sent.append(words)
            return "sent"

        return mcp

    first = server()
    async with Client(first) as client:
        listed = {tool.name: (tool.meta or {})[PERMISSIONS] for tool in await client.list_tools()}
    assert listed == {"patients": ["read"], "send": ["connect", "read"]}
    assert text_of(await call(first, "send", words="hello")) == "sent"
    seen = await call(first, "patients")
    assert (text_of(seen), seen.meta[LABELS]) == ("Jane Roe", ["confidential"])

    # It is kept: a server that is started anew, on the same state, has not forgotten it.
    for mcp in (first, server()):
        result = await call(mcp, "send", words="Jane Roe")
        assert (result.is_error, result.meta[LABELS]) == (not runs, ["confidential"])
    assert sent == ["hello"] + ["Jane Roe"] * 2 * runs


# Errors


@pytest.mark.requirement("KIT-5")
async def test_known_errors_are_told_and_unexpected_ones_masked() -> None:
    mcp = create_mcp_server("records", development="me")
    raised = {
        "retry": ToolRetryError("no such city; try Rome"),
        "fatal": ToolFatalError("the licence has ended"),
        "usage": UsageError("that is no date"),
        "crash": KeyError("Jane Roe"),
        "deep": RuntimeError("password=hunter2"),
    }

    @mcp.tool
    @tool_permission(ToolPermission.READ)
    def act(what: str) -> None:
        raise raised[what]

    said = {what: await call(mcp, "act", what=what) for what in raised}

    assert all(result.is_error for result in said.values())
    assert {what: text_of(result) for what, result in said.items()} == {
        "retry": "no such city; try Rome",
        "fatal": "[FATAL] the licence has ended",
        "usage": "that is no date",
        "crash": "Error calling tool 'act'",
        "deep": "Error calling tool 'act'",
    }
    assert not any(word in repr([said["crash"], said["deep"]]) for word in ("Jane", "hunter2", "KeyError", "test_kit"))
    assert said["retry"].structured_content["retriable"] is True
    missing = await call(mcp, "act")
    assert (missing.is_error, missing.structured_content["retriable"]) == (True, True)


def script(**config: Any) -> ServerConfig:
    env = {"BASCULE_HOME": os.environ["BASCULE_HOME"]}
    transport = StdioTransport(command=python(), args=(str(SCRIPT), "stdio"), env=env)
    return ServerConfig(name="kit", transport=transport, timeouts=Timeouts(connect=40, probe=20), **config)


@pytest.mark.requirement("KIT-5")
@pytest.mark.long
async def test_through_a_runtime_an_unexpected_error_shows_nothing_of_itself() -> None:
    async with Runtime.from_servers({"kit": script()}) as runtime:
        failure = bad(
            await runtime.session("alice", "s-1").call("kit_crash", {"words": "Jane"}), FailureKind.TOOL_ERROR
        )

    assert failure.message == "Error calling tool 'crash'"
    assert "Jane" not in repr(failure)


@pytest.mark.requirement("RES-3")
@pytest.mark.parametrize(("trust", "kind"), [(("fatal",), FailureKind.FATAL), ((), FailureKind.TOOL_ERROR)])
@pytest.mark.long
async def test_errors_of_both_kinds_arrive_as_what_they_are(trust: tuple[str, ...], kind: FailureKind) -> None:
    async with Runtime.from_servers({"kit": script(trust=trust)}) as runtime:
        session = runtime.session("alice", "s-1")
        retry = bad(await session.call("kit_retry", {}), FailureKind.TOOL_ERROR)
        fatal = bad(await session.call("kit_give_up", {}), kind)

    assert (retry.retriable, retry.tool_code) == (True, "NO_CITY")
    assert retry.message.startswith("there is no such city; try Rome")
    assert fatal.message == ("the licence has ended" if trust == ("fatal",) else "[FATAL] the licence has ended")
    assert fatal.retriable is not True


@pytest.mark.requirement("RES-3")
async def test_the_same_server_in_this_process_says_the_same() -> None:
    mcp = create_mcp_server("records", development="me")

    @mcp.tool
    @tool_permission(ToolPermission.READ)
    def act(fatal: bool) -> str:
        raise (ToolFatalError if fatal else ToolRetryError)("these words")

    @mcp.tool
    @tool_permission(ToolPermission.READ)
    def ping() -> str:
        return "pong"

    async with Runtime.from_servers({"kit": mcp}) as runtime:
        session = runtime.session("alice", "s-1")
        assert good(await session.call("kit_ping", {})).structured == {"result": "pong"}
        retry = bad(await session.call("kit_act", {"fatal": False}), FailureKind.TOOL_ERROR)
        fatal = bad(await session.call("kit_act", {"fatal": True}), FailureKind.TOOL_ERROR)

    assert (retry.message, retry.retriable) == ("these words (retriable=true)", True)
    assert fatal.message == "[FATAL] these words"
