"""

What comes into a registry and what leaves it is told, and nothing else."""

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP
from fastmcp.exceptions import NotFoundError
from fastmcp.prompts import Prompt
from fastmcp.resources import TextResource
from fastmcp.server.middleware.tool_injection import ToolInjectionMiddleware
from fastmcp.server.providers.local_provider import LocalProvider
from fastmcp.server.transforms import ToolTransform
from fastmcp.tools.base import Tool, ToolResult
from fastmcp.tools.tool_transform import ToolTransformConfig
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged

from bascule.core.errors import UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit import PrivateData, tool_permission
from bascule.kit.events.changes import Changes
from bascule.kit.governed_tool import GovernedTool
from bascule.kit.permission import PERMISSIONS_KEY
from bascule.kit.server import GovernedServer
from bascule.kit.tools import AnnouncingProvider, permissions_of
from support.kit import ALICE, CONNECT, READ, called, client_of, connecting, kit_server, labels_of, reading, text_of


@pytest.fixture
def server(tmp_path: Path) -> Generator[GovernedServer]:
    made = kit_server(tmp_path)
    yield made
    made.home.close()


def silent() -> str:
    return "ran"


def telling() -> Any:
    """A new function each time: FastMCP writes on it what it is registered as."""

    @reading
    def told() -> str:
        return "ran"

    return told


class Silent(Tool):
    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content="ran")


def silent_objects() -> list[Any]:
    return [
        silent,
        Tool.from_function(silent),
        Tool.from_function(silent, meta={PERMISSIONS_KEY: ["everything"]}),
        Silent(name="silent", parameters={"type": "object"}),
        Tool.from_tool(Tool.from_function(silent), name="renamed"),
    ]


@pytest.mark.parametrize("tool", silent_objects())
def test_a_tool_that_does_not_say_what_it_does_is_registered_in_no_way(
    server: GovernedServer, tool: Any, tmp_path: Path
) -> None:
    function = silent
    ways = [
        lambda: server.add_tool(tool),
        lambda: server.local_provider.add_tool(tool),
        lambda: kit_server(tmp_path, "another", tools=[tool]),
        lambda: server.tool(function),
        lambda: server.tool()(function),
        lambda: server.tool("named")(function),
        lambda: server.tool(name="named", meta={"mine": 1})(function),
        lambda: server.local_provider.tool(function),
        # The wrong way round: FastMCP registers it before anything is said.
        lambda: tool_permission(READ)(server.tool(lambda: None, name="late")),
    ]
    for way in ways:
        with pytest.raises(UsageError, match="does not say what it does") as caught:
            way()
        assert "below @mcp.tool" in caught.value.fix


async def test_what_was_not_registered_is_not_there(server: GovernedServer) -> None:
    with pytest.raises(UsageError):
        server.add_tool(silent)

    assert await server.list_tools() == []
    assert "Unknown tool" in text_of(await called(server, "silent", ALICE))


async def test_a_tool_that_says_what_it_does_is_registered_in_every_way(server: GovernedServer, tmp_path: Path) -> None:
    server.tool(telling(), name="a")
    server.tool("b")(telling())
    server.add_tool(Tool.from_function(telling(), name="c"))
    server.add_tool(Silent(name="d", parameters={"type": "object"}, meta={PERMISSIONS_KEY: ["write"]}))
    server.add_tool(Tool.from_function(silent, name="e", meta={PERMISSIONS_KEY: ["read", "connect"]}))
    other = kit_server(tmp_path, "another", tools=[telling()])

    async with client_of(server, ALICE) as client:
        listed = {tool.name: (tool.meta or {})[PERMISSIONS_KEY] for tool in await client.list_tools()}
        assert listed == {"a": ["read"], "b": ["read"], "c": ["read"], "d": ["write"], "e": ["connect", "read"]}
        for name in listed:
            assert text_of(await client.call_tool(name)) == "ran"
    assert text_of(await called(other, "told", ALICE)) == "ran"


def foreign(*tools: Any) -> FastMCP[Any]:
    server = FastMCP("foreign")
    for tool in tools:
        server.add_tool(tool)
    return server


async def test_tools_of_others_that_do_not_say_what_they_do_are_hidden_and_cannot_be_called(
    server: GovernedServer,
) -> None:
    provider = LocalProvider()
    provider.add_tool(Tool.from_function(silent, name="provided"))
    server.add_provider(provider)
    server.add_provider(provider, namespace="far")
    server.mount(foreign(Tool.from_function(silent, name="mounted")))
    server.mount(foreign(Tool.from_function(silent, name="mounted")), namespace="sub", tool_names={"mounted": "as"})
    server.add_middleware(ToolInjectionMiddleware(tools=[Tool.from_function(silent, name="injected")]))
    names = ["provided", "far_provided", "mounted", "sub_mounted", "sub_as", "injected"]

    async with client_of(server, ALICE) as client:
        assert await client.list_tools() == []
        for name in names:
            result = await client.call_tool(name, raise_on_error=False)
            assert (result.is_error, "Unknown tool" in text_of(result)) == (True, True)
    for name in names:
        assert await server.get_tool(name) is None


async def test_tools_of_others_that_say_so_are_governed_like_ours(server: GovernedServer, tmp_path: Path) -> None:
    begun: list[str] = []

    @connecting
    def send() -> None:
        begun.append("sent")

    provider = LocalProvider()
    provider.add_tool(Tool.from_function(send))
    server.add_provider(provider)
    meta = {PERMISSIONS_KEY: ["connect"]}
    server.mount(foreign(Tool.from_function(lambda: begun.append("far"), name="go", meta=meta)), namespace="far")
    inner = kit_server(tmp_path, "inner", tools=[Tool.from_function(send)])
    server.mount(inner, namespace="kit")
    injected = Tool.from_function(send, name="injected")
    server.add_middleware(ToolInjectionMiddleware(tools=[injected]))
    names = ["send", "far_go", "kit_send", "injected"]

    async with client_of(server, ALICE) as client:
        assert {(tool.name, (tool.meta or {})[PERMISSIONS_KEY][0]) for tool in await client.list_tools()} == {
            (name, "connect") for name in names
        }
        for name in names:
            assert not (await client.call_tool(name)).is_error
        assert len(begun) == 4
        with server.home.course_of(ALICE):
            PrivateData().add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)
        for name in names:
            result = await client.call_tool(name, raise_on_error=False)
            assert (result.is_error, labels_of(result)) == (True, ["confidential"])
    assert len(begun) == 4


async def test_a_tool_that_another_server_governs_is_governed_here_too(server: GovernedServer, tmp_path: Path) -> None:
    other = kit_server(tmp_path, "another", tools=[Tool.from_function(connecting(lambda: "sent"), name="send")])
    lent = await other.get_tool("send")
    assert isinstance(lent, GovernedTool)
    server.add_tool(lent)
    with server.home.course_of(ALICE):
        PrivateData().add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)

    assert (await called(server, "send", ALICE)).is_error
    assert text_of(await called(other, "send", ALICE)) == "sent"


async def test_a_transform_cannot_make_a_tool_harmless(server: GovernedServer) -> None:
    server.add_tool(Tool.from_function(connecting(lambda: "sent"), name="send"))
    harmless = {PERMISSIONS_KEY: ["read"]}
    server.add_transform(ToolTransform({"send": ToolTransformConfig(name="look", meta=harmless)}))
    with server.home.course_of(ALICE):
        PrivateData().add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)

    assert (await called(server, "look", ALICE)).is_error


async def test_a_disabled_tool_stays_disabled(server: GovernedServer) -> None:
    server.add_tool(telling())
    server.disable(names={"told"})
    assert await server.list_tools() == []
    assert "Unknown tool" in text_of(await called(server, "told", ALICE))

    server.enable(names={"told"})
    assert text_of(await called(server, "told", ALICE)) == "ran"


@pytest.mark.parametrize(("how", "left"), [("replace", "second"), ("warn", "second"), ("ignore", "first")])
async def test_of_two_tools_of_one_name_the_author_says_which_stays(tmp_path: Path, how: str, left: str) -> None:
    server = kit_server(tmp_path, on_duplicate=how)
    first = server.add_tool(Tool.from_function(reading(lambda: "first"), name="tool"))
    second = server.add_tool(Tool.from_function(reading(lambda: "second"), name="tool"))

    assert text_of(await called(server, "tool", ALICE)) == left
    assert (second is first or isinstance(second, GovernedTool)) == (how == "ignore")


def test_two_tools_of_one_name_can_be_an_error(tmp_path: Path) -> None:
    server = kit_server(tmp_path, on_duplicate="error", tools=[telling()])

    with pytest.raises(ValueError, match="already exists"):
        server.add_tool(telling())


async def test_a_tool_can_be_removed(server: GovernedServer) -> None:
    server.add_tool(telling())
    server.local_provider.remove_tool("told")

    assert await server.list_tools() == []


async def test_resources_and_prompts_are_registered_as_ever(server: GovernedServer) -> None:
    server.add_resource(TextResource(uri="data://x", name="x", text="hello"))  # pyright: ignore[reportArgumentType]
    server.add_prompt(Prompt.from_function(lambda: "ask me", name="ask"))

    async with client_of(server) as client:
        assert [str(resource.uri) for resource in await client.list_resources()] == ["data://x"]
        assert [prompt.name for prompt in await client.list_prompts()] == ["ask"]


def test_what_a_function_says_counts_before_what_its_meta_says() -> None:
    tool = Tool.from_function(connecting(lambda: None), name="send", meta={PERMISSIONS_KEY: ["read"]})

    assert permissions_of(tool) == {CONNECT}


def words() -> str:
    """Words."""
    return "words"


def one(name: str) -> str:
    """Words about one."""
    return name


async def heard_of(heard: list[ServerEvent]) -> list[ServerEvent]:
    await asyncio.sleep(0)
    told = heard[:]
    heard.clear()
    return told


def watched(**options: Any) -> tuple[AnnouncingProvider, list[ServerEvent]]:
    changes, heard = Changes(), list[ServerEvent]()
    changes.subscribe(heard.append)
    return AnnouncingProvider(changes, **options), heard


async def test_each_kind_is_told_as_a_change_of_its_list():
    provider, heard = watched()
    provider.tool(words)
    assert await heard_of(heard) == [ToolsListChanged()]
    provider.prompt(words)
    assert await heard_of(heard) == [PromptsListChanged()]
    provider.resource("a://words")(words)
    assert await heard_of(heard) == [ResourcesListChanged()]
    provider.resource("a://{name}")(one)
    assert await heard_of(heard) == [ResourcesListChanged()]

    provider.remove_tool("words")
    assert await heard_of(heard) == [ToolsListChanged()]
    provider.remove_prompt("words")
    assert await heard_of(heard) == [PromptsListChanged()]
    provider.remove_resource("a://words")
    assert await heard_of(heard) == [ResourcesListChanged()]
    provider.remove_template("a://{name}")
    assert await heard_of(heard) == [ResourcesListChanged()]


async def test_what_was_not_taken_changes_nothing():
    provider, heard = watched(on_duplicate="ignore")
    provider.tool(words)
    await heard_of(heard)
    provider.tool(words)
    assert await heard_of(heard) == []


async def test_what_is_refused_changes_nothing():
    provider, heard = watched(on_duplicate="error")
    provider.tool(words)
    await heard_of(heard)
    with pytest.raises(ValueError, match="already exists"):
        provider.tool(words)
    with pytest.raises((KeyError, NotFoundError)):
        provider.remove_tool("unheard of")
    assert await heard_of(heard) == []


async def test_what_replaces_another_is_a_change():
    provider, heard = watched(on_duplicate="replace")
    provider.tool(words)
    await heard_of(heard)
    provider.tool(words)
    assert await heard_of(heard) == [ToolsListChanged()]
