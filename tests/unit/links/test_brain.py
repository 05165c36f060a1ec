import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, TextContent

from bascule.core.errors import ConnectionLost, ProtocolViolation
from bascule.links.brain import Brain
from bascule.links.negotiation import negotiate
from bascule.links.terms import Agreement
from bascule.transports.stdio import StdioDispatcher
from support.links import TERMS, linked
from support.servers import methods, opened, stdio
from support.streams import Loopback, a_request
from support.waiting import fail_after

OLD = Agreement("2025-11-25", {"tools": {}}, {"name": "odd", "version": "1"}, "")


def question(ask: str, **params: Any) -> Any:
    return a_request("tools/call", 10.0, params={"name": "ask", "arguments": {"ask": ask, "params": params}})


@asynccontextmanager
async def thinking(name: str, *args: object) -> AsyncGenerator[tuple[StdioDispatcher, Brain]]:
    async with opened(stdio(name, *args)) as server:
        brain = Brain(server, await negotiate(server, TERMS, "auto"), TERMS)
        try:
            yield server, brain
        finally:
            await brain.close()


@pytest.mark.parametrize(
    ("method", "code"),
    [("roots/list", INVALID_REQUEST), ("elicitation/create", None), ("made/up", METHOD_NOT_FOUND)],
)
async def test_a_question_of_the_server_wakes_the_brain_and_is_answered_in_the_sdks_way(method: str, code: int | None):
    async with thinking("asking") as (server, _):
        params = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        answer = (await server.send(question(method, **params)))["structuredContent"]

    assert answer["id"] == "question"
    assert answer["error"]["code"] == (code or INVALID_REQUEST)


async def test_the_second_question_is_answered_by_the_same_session():
    async with thinking("asking") as (server, brain):
        await server.send(question("roots/list"))
        session = await brain.session()
        answer = await server.send(question("roots/list"))

        assert answer["structuredContent"]["error"]["code"] == INVALID_REQUEST
        assert await brain.session() is session


async def test_a_link_answers_its_servers_questions():
    async with linked("asking") as link:
        await link.opened()
        answer = (await link.send(question("roots/list")))["structuredContent"]

    assert answer["error"] == {"code": INVALID_REQUEST, "message": "List roots not supported"}


@pytest.mark.parametrize("server", ["old", "new"])
async def test_the_session_speaks_what_was_agreed_on_and_asks_nothing_again(server: str, tmp_path: Path):
    log = tmp_path / "log"
    async with thinking(server, "--log", log) as (_, brain):
        session = await brain.session()
        result = await session.call_tool("echo", {"message": "hello"})

    block = result.content[0]
    assert isinstance(block, TextContent)
    assert block.text == "hello"
    assert methods(log).count("initialize") == (1 if server == "old" else 0)
    assert methods(log).count("server/discover") == 1


async def test_nothing_of_the_sdk_runs_until_it_is_needed():
    async with thinking("echo") as (server, brain):
        await server.send(a_request("tools/list", 10.0, params={"_meta": {}}))

        assert brain._owner is None


async def test_several_who_need_it_at_once_share_one_session():
    async with thinking("echo") as (_, brain):
        sessions = await asyncio.gather(*(brain.session() for _ in range(5)))

        assert len(set(map(id, sessions))) == 1


async def test_who_stops_waiting_does_not_harm_the_others():
    async with thinking("echo") as (_, brain):
        impatient = asyncio.create_task(brain.session())
        await asyncio.sleep(0)
        impatient.cancel()

        assert (await brain.session()) is not None


@pytest.mark.parametrize(
    "agreed",
    [
        Agreement("2025-11-25", {"tools": "many"}, {}, ""),
        Agreement("2025-11-25", {}, {"name": 7}, ""),
        Agreement("2026-07-28", {"tools": "many"}, {}, ""),
    ],
    ids=["capabilities", "name", "new era"],
)
async def test_a_server_that_describes_itself_wrongly_leaves_nobody_waiting(agreed: Agreement):
    stream = Loopback()
    brain = Brain(stream, agreed, TERMS)
    async with fail_after(20, "the session"):
        for _ in range(2):
            with pytest.raises(ProtocolViolation, match="describes itself wrongly"):
                await brain.session()
        stream.say({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
        await stream.until_sent(1)
        await brain.close()

    assert stream.sent[0]["error"]["code"] == INTERNAL_ERROR


async def test_who_waits_when_the_link_is_closed_is_told():
    brain = Brain(Loopback(), OLD, TERMS)
    waiting = asyncio.create_task(brain.session())
    await asyncio.sleep(0)
    async with fail_after(20, "the end"):
        await brain.close()
        with pytest.raises(ConnectionLost) as caught:
            await waiting

    assert not caught.value.sent


async def test_closing_ends_the_session_and_can_be_done_twice():
    stream = Loopback()
    brain = Brain(stream, OLD, TERMS)
    async with fail_after(20, "the end"):
        await brain.session()
        await brain.close()
        await brain.close()

    assert brain._owner is not None
    assert brain._owner.done()


async def test_closing_one_that_was_never_needed_is_nothing():
    brain = Brain(Loopback(), OLD, TERMS)
    await brain.close()

    assert brain._owner is None
