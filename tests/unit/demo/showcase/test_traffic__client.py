"""The least an MCP client has to be, before a real gateway."""

import aiohttp

from bascule.config import ServerConfig
from bascule.demo.showcase.traffic import Client
from bascule.demo.story.stage import built_in
from support.gateways import serving
from support.waiting import fail_after


async def test_it_calls_and_is_told_what_came_of_it():
    async with (
        fail_after(60),
        serving(ServerConfig("notes", built_in("notes"))) as served,
        aiohttp.ClientSession() as line,
    ):
        client = Client(line, f"http://127.0.0.1:{served.port}/mcp", "Bearer x", "test")
        added = await client.call("notes_add", {"text": "one"}, 30)
        wrong = await client.call("notes_add", {"text": 7}, 30)
        unknown = await client.call("notes_ad", {}, 30)

    assert added["structuredContent"] == {"number": 1, "text": "one"}
    assert wrong["isError"] is True
    assert unknown["code"] == -32602
