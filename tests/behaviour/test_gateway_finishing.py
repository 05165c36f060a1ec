"""That a person has finished at an address is told to the client that sent them there, and to nobody else."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ElicitCompleteNotification, ElicitResult

from bascule.config import ServerConfig, StdioTransport, StreamableHttpTransport
from servers.curious import sdk
from support.gateways import AUTH, serving
from support.http_servers import sdk_server
from support.kit_http import bearer
from support.old_client import OldClient, old_client
from support.runtime import TIMEOUTS
from support.servers import SERVERS
from support.stdio_clients import as_command
from support.waiting import fail_after, until
from support.warm import python

pytestmark = pytest.mark.requirement("GTW-3")
SCRIPT = str(SERVERS / "curious.py")


class Person:
    """One client, the ids of the addresses that its person was sent to, and of those that it heard they finished at."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.finished: list[str] = []

    async def elicit(self, _context: Any, params: Any) -> ElicitResult:
        self.sent.append(params.elicitation_id)
        return ElicitResult(action="accept")

    async def hear(self, message: Any) -> None:
        if isinstance(message, ElicitCompleteNotification):
            self.finished.append(message.params.elicitation_id)

    @asynccontextmanager
    async def at(self, where: int | StdioServerParameters, mode: Any = "legacy") -> AsyncGenerator[Client]:
        place = f"http://127.0.0.1:{where}/mcp" if isinstance(where, int) else where
        callbacks: Any = {"elicitation_callback": self.elicit, "message_handler": self.hear}
        async with Client(place, mode=mode, **callbacks) as client:
            yield client


def curious(name: str = "it", era: Any = "old") -> ServerConfig:
    transport = StdioTransport(command=python(), args=(SCRIPT, "sdk"))
    return ServerConfig(name=name, transport=transport, era=era, timeouts=TIMEOUTS)


async def does(client: Client, tool: str, **arguments: Any) -> str:
    result: Any = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return result.content[0].text


@pytest.mark.long
async def test_the_client_that_was_asked_hears_it_under_the_id_that_it_was_given():
    mine, other = Person(), Person()
    async with (
        serving(curious(), curious("its"), within=60) as gateway,
        mine.at(gateway.port) as client,
        other.at(gateway.port) as beside,
    ):
        # Both servers call what they ask for by the same name.
        assert [await does(client, tool) for tool in ("it_visit", "its_visit")] == ["accept", "accept"]
        assert await does(beside, "its_visit") == "accept"
        await does(client, "it_finish", name="agreement-2")
        await does(client, "it_finish")
        await until(lambda: bool(mine.finished))
        await does(client, "it_finish")
        await does(client, "its_finish")
        await until(lambda: len(mine.finished) == 2 and len(other.finished) == 1)
    assert mine.finished == mine.sent
    assert other.finished == other.sent
    assert len({*mine.sent, *other.sent}) == 3
    assert "agreement-1" not in mine.sent


async def test_a_server_over_http_is_heard_as_well():
    person = Person()
    async with (
        sdk_server(sdk()) as url,
        serving(ServerConfig("it", StreamableHttpTransport(url=url), era="old", timeouts=TIMEOUTS)) as gateway,
        person.at(gateway.port) as client,
    ):
        await does(client, "it_visit")
        await does(client, "it_finish")
        await until(lambda: bool(person.finished))
    assert person.finished == person.sent


async def test_the_client_of_a_command_hears_it_too(tmp_path: Path):
    person = Person()
    script = {"it": {"command": python(), "args": [SCRIPT, "sdk"], "era": "old"}}
    async with as_command(tmp_path, script) as command, person.at(command) as client:
        await does(client, "it_visit")
        await does(client, "it_finish")
        await until(lambda: bool(person.finished))
    assert person.finished == person.sent


@pytest.mark.parametrize(("mode", "era"), [("2026-07-28", "old"), ("legacy", "new"), ("2026-07-28", "new")])
async def test_where_one_of_them_is_of_the_new_era_which_has_no_word_for_it_all_else_goes_on(mode: str, era: str):
    person = Person()
    async with serving(curious(era=era), within=60) as gateway, person.at(gateway.port, mode) as client:
        assert await does(client, "it_visit") == "accept"
        if era == "old":
            await does(client, "it_finish")
        assert await does(client, "it_visit") == "accept"
    assert not person.finished


async def called(client: OldClient, tool: str, **arguments: Any) -> None:
    async with client.call(tool, **arguments) as messages:
        assert "result" in [message async for message in messages][-1]


async def sent_away(client: OldClient, name: str) -> str:
    """The id under which a client is asked to send its person somewhere."""
    async with client.call("it_visit", name=name) as messages:
        question = await anext(messages)
        await client.answer(question, {"action": "accept"})
        assert "result" in await anext(messages)
    return question["params"]["elicitationId"]


async def finished(heard: AsyncIterator[Any]) -> str:
    """Where the next is that a person has finished at. Lists may have been told of before."""
    async with fail_after(20, "the news"):
        while (message := await anext(heard))["method"] != "notifications/elicitation/complete":
            pass
    return message["params"]["elicitationId"]


async def test_nobody_hears_that_another_principals_person_has_finished():
    address = {"elicitation": {"url": {}}}
    alice, bob = ({"Authorization": bearer(who)} for who in ("alice", "bob"))
    async with (
        serving(curious(), auth=AUTH, within=60) as gateway,
        old_client(gateway.port, address, **alice) as hers,
        old_client(gateway.port, address, **bob) as his,
    ):
        first, _, second = [
            await sent_away(hers, "agreement-1"),
            await sent_away(his, "agreement-1"),
            await sent_away(his, "agreement-2"),
        ]
        async with his.listen() as heard:
            await called(hers, "it_finish", name="agreement-1")
            await called(his, "it_finish", name="agreement-2")
            # Had he been told of hers, that would come first.
            assert await finished(heard) == second
        async with hers.listen() as heard:
            # What came while she had no stream is told on the next.
            assert await finished(heard) == first
