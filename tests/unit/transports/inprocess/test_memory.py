"""A server object in this process, spoken to like any other server."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import msgspec
import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerRefused, ProtocolViolation
from bascule.core.json_types import JsonObject
from bascule.transports.dispatcher import is_new_era
from bascule.transports.inprocess.memory import MemoryDispatcher, lowlevel_of
from bascule.upstream.negotiation import negotiate
from bascule.upstream.settings import Agreement, Era
from bascule.wire.request_meta import new_stamp, old_stamp
from support.links import TERMS
from support.servers import opened
from support.streams import a_request
from support.waiting import fail_after

WHO: ContextVar[str] = ContextVar("who", default="nobody")


class Life(list[str]):
    """What a server object went through. `held` is set while one of its tools waits, for ever."""

    def __init__(self) -> None:
        self.held = asyncio.Event()
        self.callers: list[str] = []

    @asynccontextmanager
    async def span(self, _: Any) -> AsyncGenerator[dict[str, Any]]:
        self.append("entered")
        try:
            yield {}
        finally:
            self.append("left")

    async def act(self, name: str, message: str = "") -> str:
        self.callers.append(WHO.get())
        if name == "fail":
            raise ValueError("out of tea")
        if name == "hang":
            self.held.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.append("let go")
        return message


def high_level(server: Any, life: Life) -> Any:
    """The three tools, as the SDK's and FastMCP's servers both take them."""

    @server.tool()
    async def echo(message: str) -> str:
        return await life.act("echo", message)

    @server.tool()
    async def fail() -> str:
        return await life.act("fail")

    @server.tool()
    async def hang() -> str:
        return await life.act("hang")

    return server


def sdk(life: Life) -> MCPServer[Any]:
    return high_level(MCPServer("sdk", lifespan=life.span), life)


def fastmcp(life: Life) -> FastMCP[Any]:
    return high_level(FastMCP("fastmcp", lifespan=life.span), life)


def lowlevel(life: Life) -> "Server[Any]":
    async def list_tools(*_: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"}) for name in ("echo", "hang")])

    async def call_tool(_: Any, params: Any) -> CallToolResult:
        text = await life.act(params.name, **(params.arguments or {}))
        return CallToolResult(content=[TextContent(type="text", text=text)])

    return Server("lowlevel", lifespan=life.span, on_list_tools=list_tools, on_call_tool=call_tool)


Make = Callable[[Life], Any]
EVERY_KIND = pytest.mark.parametrize("make", [sdk, lowlevel, fastmcp])


class Conversation:
    """A dispatcher with the words of the era that was agreed on."""

    def __init__(self, dispatcher: MemoryDispatcher, agreement: Agreement) -> None:
        self.dispatcher = dispatcher
        self.version = version = agreement.version
        self._stamp = new_stamp(version, TERMS.client_info, {}) if is_new_era(version) else old_stamp(version)

    async def ask(self, method: str, **params: Any) -> JsonObject:
        stamped = self._stamp.params(params, f"00-{1:032x}-{1:016x}-01")
        return await self.dispatcher.send(a_request(method, 10.0, params=stamped))

    async def call(self, tool: str, **arguments: Any) -> JsonObject:
        return await self.ask("tools/call", name=tool, arguments=arguments)


@asynccontextmanager
async def talking(server: Any, era: Era = "auto", max_message: int = 1_000_000) -> AsyncGenerator[Conversation]:
    async with opened(MemoryDispatcher(server, max_message=max_message)) as dispatcher:
        terms = msgspec.structs.replace(TERMS, client_info={"name": "test", "version": "1"})
        yield Conversation(dispatcher, await negotiate(dispatcher, terms, era))


@EVERY_KIND
@pytest.mark.parametrize(("era", "version"), [("auto", "2026-07-28"), ("new", "2026-07-28"), ("old", "2025-11-25")])
async def test_any_server_object_is_listed_and_called_in_either_era(make: Make, era: Era, version: str):
    async with talking(make(Life()), era) as server:
        listed = await server.ask("tools/list")
        result = await server.call("echo", message="héllo\nworld")

        assert server.version == version
        assert {"echo", "hang"} <= {tool["name"] for tool in listed["tools"]}
        assert result["content"][0]["text"] == "héllo\nworld"
        assert server.dispatcher.evidence() == ""


@EVERY_KIND
async def test_many_calls_at_once_each_get_their_own(make: Make):
    async with talking(make(Life())) as server:
        texts = [str(number) for number in range(20)]
        results = await asyncio.gather(*(server.call("echo", message=text) for text in texts))

        assert [result["content"][0]["text"] for result in results] == texts


@pytest.mark.parametrize("make", [sdk, fastmcp])
async def test_a_tool_that_raises_is_an_error_of_the_tool(make: Make):
    async with talking(make(Life())) as server:
        result = await server.call("fail")

        assert result["isError"] is True
        assert (await server.call("echo", message="still here"))["content"][0]["text"] == "still here"


async def test_a_tool_of_a_lowlevel_server_that_raises_is_an_error_of_the_protocol():
    async with talking(lowlevel(Life())) as server:
        with pytest.raises(PeerRefused):
            await server.call("fail")
        assert (await server.call("echo", message="still here"))["content"][0]["text"] == "still here"


@EVERY_KIND
async def test_the_lifespan_is_entered_with_the_link_and_left_with_it(make: Make):
    life = Life()
    async with talking(make(life)) as server:
        await server.call("echo", message="")
        assert life == ["entered"]

    assert life == ["entered", "left"]


@EVERY_KIND
async def test_closing_ends_a_call_in_flight_and_lets_its_tool_go(make: Make):
    life = Life()
    async with talking(make(life)) as server:
        call = asyncio.create_task(server.call("hang"))
        async with fail_after(10):
            await life.held.wait()
            await server.dispatcher.close(0.05)
        with pytest.raises(ConnectionLost, match="the link was closed") as caught:
            await call

        assert caught.value.sent
        assert life == ["entered", "let go", "left"]
        assert all(task.done() for task in server.dispatcher._tasks)


async def test_a_server_object_that_does_not_end_in_time_is_ended():
    left = asyncio.Event()

    @asynccontextmanager
    async def lingering(_: Any) -> AsyncGenerator[dict[str, Any]]:
        yield {}
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            left.set()

    async with talking(Server("lowlevel", lifespan=lingering)) as server:
        async with fail_after(10):
            await server.dispatcher.close(0.02)

        assert left.is_set()
        assert all(task.done() for task in server.dispatcher._tasks)


async def test_a_cancelled_call_is_let_go_by_the_server_and_the_link_lives_on():
    life = Life()
    async with talking(sdk(life)) as server:
        call = asyncio.create_task(server.call("hang"))
        await life.held.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        assert (await server.call("echo", message="still here"))["content"][0]["text"] == "still here"
        assert "let go" in life


async def test_closing_twice_and_before_opening_is_fine():
    dispatcher = MemoryDispatcher(sdk(Life()), max_message=1000)
    await dispatcher.close(1.0)
    await dispatcher.close(1.0)

    with pytest.raises(ConnectionLost) as caught:
        await dispatcher.send(a_request())
    assert not caught.value.sent


@pytest.mark.parametrize("thing", [object(), "server", None, Life], ids=["object", "text", "nothing", "class"])
async def test_what_is_no_server_object_is_refused_with_what_to_pass(thing: Any):
    with pytest.raises(ConnectFailed, match="is not a server object") as caught:
        await MemoryDispatcher(thing, max_message=1000).open()

    assert "MCP SDK or FastMCP" in caught.value.fix


def test_the_server_inside_a_high_level_one_is_found():
    life = Life.__new__(Life)
    inside = lowlevel(life)

    assert lowlevel_of(inside) is inside
    assert isinstance(lowlevel_of(MCPServer("sdk")), Server)
    assert isinstance(lowlevel_of(FastMCP("fastmcp")), Server)


async def test_a_server_object_that_cannot_start_is_lost_with_its_reason():
    @asynccontextmanager
    async def broken(_: Any) -> AsyncGenerator[None]:
        raise OSError("no database")
        yield

    for server in (Server("lowlevel", lifespan=broken), FastMCP("fastmcp", lifespan=broken)):
        async with opened(MemoryDispatcher(server, max_message=1000)) as dispatcher:
            lost = await dispatcher.lost

            assert isinstance(lost, ConnectionLost)
            assert "OSError: no database" in lost.message
            with pytest.raises(ConnectionLost):
                await dispatcher.send(a_request())


async def test_a_server_object_is_held_to_the_cap_on_messages():
    async with talking(sdk(Life()), max_message=2000) as server:
        with pytest.raises(ProtocolViolation, match="longer than 2000 bytes"):
            await server.call("echo", message="x" * 3000)


async def test_two_links_to_one_object_do_not_disturb_each_other():
    shared = lowlevel(Life())
    async with talking(shared) as one, talking(shared) as two:
        await one.dispatcher.close(1.0)

        assert (await two.call("echo", message="hi"))["content"][0]["text"] == "hi"


async def test_nothing_is_left_open_for_the_collector_to_complain_about():
    async with talking(sdk(Life())):
        pass
    gc.collect()


@EVERY_KIND
@pytest.mark.parametrize("era", ["new", "old"])
async def test_a_server_object_acts_in_the_context_of_whoever_asks(make: Make, era: Era):
    life = Life()
    async with talking(make(life), era) as server:

        async def ask_as(who: str) -> None:
            WHO.set(who)
            await server.call("echo", message=who)

        async with asyncio.TaskGroup() as asking:
            for who in ("alice", "bob", "carol"):
                asking.create_task(ask_as(who))

    assert sorted(life.callers) == ["alice", "bob", "carol"]
