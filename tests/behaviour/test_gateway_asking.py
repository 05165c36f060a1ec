"""What servers ask reaches the client that made the request, whichever eras the two are of."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Root,
    TextContent,
)
from pydantic import FileUrl

from bascule.config import ServerConfig, StdioTransport
from support.gateways import serving
from support.runtime import TIMEOUTS, Events
from support.servers import SERVERS
from support.warm import python

PAIRS = [(mode, era) for mode in ("legacy", "2026-07-28") for era in ("old", "new")]
ACCEPTED = ElicitResult(action="accept", content={"colour": "red"})


def curious(maker: str, era: Any) -> ServerConfig:
    """A server that nobody here wrote, made to ask."""
    transport = StdioTransport(command=python(), args=(str(SERVERS / "curious.py"), maker))
    return ServerConfig(name="it", transport=transport, era=era, timeouts=TIMEOUTS)


class Person:
    """Answers like a client's user, model and folders; keeps what they were asked."""

    def __init__(self, answer: ElicitResult = ACCEPTED) -> None:
        self.asked: list[Any] = []
        self._answer = answer

    async def elicit(self, _context: Any, params: Any) -> ElicitResult | ErrorData:
        self.asked.append(params)
        return self._answer

    async def sample(self, _context: Any, params: Any) -> CreateMessageResult | ErrorData:
        self.asked.append(params)
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="O bridge!"), model="quill")

    async def roots(self, _context: Any) -> ListRootsResult | ErrorData:
        self.asked.append("roots")
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///work"), name="work")])

    @property
    def callbacks(self) -> dict[str, Any]:
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
        }


@asynccontextmanager
async def connected(
    pair: tuple[str, str], maker: str = "sdk", events: Events | None = None, **callbacks: Any
) -> AsyncGenerator[Client]:
    """The official client, before a gateway, before a server of the official SDK or FastMCP."""
    mode: Any = pair[0]
    async with (
        serving(curious(maker, pair[1]), events=events, within=60) as served,
        Client(f"http://127.0.0.1:{served.port}/mcp", mode=mode, **callbacks) as client,
    ):
        yield client


def said(result: Any) -> str:
    assert not result.is_error, result
    return result.content[0].text


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
async def test_a_person_a_model_and_folders_are_asked_in_all_pairs_of_eras(pair: tuple[str, str]):
    person, events = Person(), Events()
    async with connected(pair, events=events, **person.callbacks) as client:
        assert said(await client.call_tool("it_paint", {"thing": "door"})) == "pale red door"
        assert said(await client.call_tool("it_write")) == "O bridge! (quill)"
        assert said(await client.call_tool("it_look")) == "work=file:///work"
        assert said(await client.call_tool("it_everything")) == "red, O bridge!, 1"
        assert said(await client.call_tool("it_visit")) == "accept"
    forms = [asked for asked in person.asked if isinstance(asked, ElicitRequestFormParams)]
    (address,) = [asked for asked in person.asked if isinstance(asked, ElicitRequestURLParams)]
    assert {form.message for form in forms} == {"Which colour?"}
    assert address.url == "https://example.test/agree"
    told = [event.answer for event in events.answers]
    assert sorted(told) == ["accept", "accept", "accept", "listed", "listed", "sampled", "sampled"]


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
async def test_a_no_is_a_no_in_all_pairs_of_eras(pair: tuple[str, str], action: Any):
    person = Person(ElicitResult(action=action))
    async with connected(pair, **person.callbacks) as client:
        assert said(await client.call_tool("it_paint", {"thing": "door"})) == action
        assert said(await client.call_tool("it_visit")) == action


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
async def test_an_answer_that_does_not_fit_what_was_asked_is_not_sent(pair: tuple[str, str]):
    person = Person(ElicitResult(action="accept", content={"colour": 5}))
    async with connected(pair, **person.callbacks) as client:
        assert said(await client.call_tool("it_paint", {"thing": "door"})) == "decline"


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
async def test_a_client_is_never_asked_what_it_does_not_offer(pair: tuple[str, str]):
    person, events = Person(), Events()
    async with connected(pair, events=events, elicitation_callback=person.elicit) as client:
        for tool in ("it_write", "it_look"):
            with pytest.raises(MCPError) as caught:
                await client.call_tool(tool)
            # A server of the new era sees that the capability is missing; one of the old era asks, and is refused.
            assert caught.value.code == (-32021 if pair[1] == "new" else -32600)
        assert said(await client.call_tool("it_paint", {"thing": "door"})) == "pale red door"
    assert [type(asked) for asked in person.asked] == [ElicitRequestFormParams]


@pytest.mark.requirement("CAT-9")
@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
async def test_prompts_and_resources_ask_like_tools(pair: tuple[str, str]):
    person = Person()
    async with connected(pair, **person.callbacks) as client:
        prompt = await client.get_prompt("it_describe")
        content: Any = prompt.messages[0].content
        assert content.text == "Describe: red"
        resource: Any = (await client.read_resource("picture://bridge")).contents[0]
        assert resource.text == "bridge: red"
    assert len(person.asked) == 2


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.long
async def test_servers_of_fastmcp_ask_too(pair: tuple[str, str]):
    async with connected(pair, "fastmcp", **Person().callbacks) as client:
        assert said(await client.call_tool("it_paint", {"thing": "door"})) == "pale red door"
