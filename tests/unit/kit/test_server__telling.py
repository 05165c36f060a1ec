"""A server says what changes in it, whichever way it changes."""

import asyncio

from fastmcp import FastMCP
from fastmcp.server.providers import FastMCPProvider
from fastmcp.server.transforms import Namespace
from mcp.shared.subscriptions import ResourceUpdated, ServerEvent

from bascule.kit.events.changes import ALL_LISTS
from bascule.kit.server import TellingServer


async def test_what_may_change_every_list_is_told_as_a_change_of_every_list():
    server, heard = TellingServer("telling"), list[ServerEvent]()
    server.changes.subscribe(heard.append)
    other: FastMCP[None] = FastMCP("other")
    for change in (
        lambda: server.disable(names={"a"}),
        lambda: server.enable(names={"a"}),
        lambda: server.add_transform(Namespace("b")),
        lambda: server.add_provider(FastMCPProvider(other)),
        lambda: server.mount(other, namespace="other"),
    ):
        change()
        await asyncio.sleep(0)
        assert heard == [*ALL_LISTS]
        heard.clear()


async def test_disabling_and_enabling_still_do_what_they_say():
    server = TellingServer("telling")

    @server.tool
    def words() -> str:
        return "words"

    assert server.disable(names={"words"}) is server
    assert await server.get_tool("words") is None
    assert server.enable(names={"words"}) is server
    assert await server.get_tool("words") is not None


async def test_a_resource_that_changed_is_told_from_any_thread():
    server, heard = TellingServer("telling"), list[ServerEvent]()
    server.changes.subscribe(heard.append)
    await asyncio.to_thread(server.resource_updated, "a://1")
    await asyncio.sleep(0)
    assert heard == [ResourceUpdated("a://1")]
