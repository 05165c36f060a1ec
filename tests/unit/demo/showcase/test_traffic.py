"""Demo agents, and their minimal MCP client in front of a real gateway."""

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

import aiohttp
from aiohttp import web

from bascule.config import ServerConfig
from bascule.core.principal import Principal
from bascule.demo.showcase.traffic import AGENTS, RECEIVER, Agent, Client, Deed, Traffic
from bascule.demo.story.stage import built_in
from support.gateways import serving
from support.waiting import fail_after, until

AT_ONCE = (0.0, 0.0)


class Gateway:
    """Remembers who called what, and answers anything but what agents are used to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.here: list[Principal] = []
        self.gone: list[Principal] = []

    @contextmanager
    def invited(self, principal: Principal) -> Generator[str]:
        self.here.append(principal)
        yield str(principal)
        self.gone.append(principal)

    async def answer(self, request: web.Request) -> web.Response:
        params = json.loads(await request.text())["params"]
        self.asked.append((request.headers["Authorization"], params["name"], params["arguments"]))
        return web.Response(status=500, text="no JSON")


async def worked(gateway: Gateway, agents: tuple[Agent, ...], calls: int) -> None:
    """Let agents work until so many calls were made."""
    app = web.Application()
    app.router.add_post("/mcp", gateway.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    traffic = Traffic(f"http://{host}:{port}/mcp", gateway.invited, "there:1", Random(1), AT_ONCE, AT_ONCE)
    working = asyncio.ensure_future(traffic.run(agents))
    try:
        async with fail_after(30):
            await until(lambda: len(gateway.asked) >= calls or working.done())
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        await runner.cleanup()


async def test_an_agent_goes_on_whatever_it_is_answered():
    gateway = Gateway()
    agent = Agent("ada", "s", (Deed("one"), Deed("two", {"to": RECEIVER})))
    await worked(gateway, (agent,), 5)

    assert (
        gateway.asked[:4]
        == [
            ("ada/s", "one", {}),
            ("ada/s", "two", {"to": "there:1"}),
        ]
        * 2
    )


async def test_an_agent_that_begins_anew_is_another_agent_session_each_time():
    gateway = Gateway()
    await worked(gateway, (Agent("ben", "s", (Deed("one"),), anew=True),), 3)

    assert [who for who, *_ in gateway.asked[:3]] == ["ben/s-1", "ben/s-2", "ben/s-3"]
    # Whoever has left is no longer known.
    assert gateway.gone[:2] == gateway.here[:2]


async def test_agents_work_side_by_side():
    gateway = Gateway()
    await worked(gateway, tuple(Agent(name, "s", (Deed("one"),)) for name in ("a", "b", "c")), 30)

    assert {who for who, *_ in gateway.asked} == {"a/s", "b/s", "c/s"}


def test_there_are_several_users_and_no_two_agents_share_an_agent_session():
    assert len({agent.user for agent in AGENTS}) > 2
    assert len({(agent.user, agent.session) for agent in AGENTS}) == len(AGENTS)


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
