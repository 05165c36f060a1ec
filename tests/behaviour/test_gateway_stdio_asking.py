"""What servers ask reaches the client that started the gateway, whichever eras the two are of."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent
from pydantic import FileUrl

from support.servers import SERVERS
from support.stdio_clients import as_command, talking
from support.waiting import fail_after
from support.warm import python

pytestmark = pytest.mark.requirement("GTW-3")


def curious(era: str) -> dict[str, Any]:
    return {"it": {"command": python(), "args": [str(SERVERS / "curious.py"), "sdk"], "era": era}}


async def elicit(_context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"colour": "red"} if params.mode != "url" else None)


async def sample(_context: Any, _params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="O bridge!"), model="quill")


async def roots(_context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri=FileUrl("file:///work"), name="work")])


@asynccontextmanager
async def connected(folder: Path, mode: Any, era: str) -> AsyncGenerator[Client]:
    callbacks: Any = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
    async with (
        fail_after(90, "the official client"),
        as_command(folder, curious(era)) as command,
        Client(command, mode=mode, **callbacks) as client,
    ):
        yield client


@pytest.mark.parametrize("era", ["old", "new"])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_person_a_model_and_folders_are_asked_in_all_pairs_of_eras(tmp_path: Path, mode: str, era: str):
    async with connected(tmp_path, mode, era) as client:

        async def said(tool: str, **arguments: Any) -> str:
            result: Any = await client.call_tool(tool, arguments)
            assert not result.is_error, result
            return result.content[0].text

        assert await said("it_paint", thing="door") == "pale red door"
        assert await said("it_write") == "O bridge! (quill)"
        assert await said("it_look") == "work=file:///work"
        assert await said("it_everything") == "red, O bridge!, 1"
        assert await said("it_visit") == "accept"


async def test_a_question_that_nobody_waits_for_is_taken_back_from_the_client(tmp_path: Path):
    async with talking(tmp_path, servers=curious("old")) as talk:
        await talk.introduce(elicitation={})
        number = await talk.begin("tools/call", {"name": "it_paint", "arguments": {"thing": "door"}}, new=False)
        asked = await talk.hear_of("elicitation/create")
        await talk.say({"method": "notifications/cancelled", "params": {"requestId": number}})
        assert (await talk.hear_of("notifications/cancelled"))["params"]["requestId"] == asked["id"]
        await talk.say({"id": asked["id"], "result": {"action": "accept", "content": {"colour": "red"}}})
        assert "result" in await talk.ask("tools/list", new=False)


async def test_a_client_that_is_away_to_find_an_answer_and_never_comes_back_keeps_nobody_from_ending(tmp_path: Path):
    async with talking(tmp_path, servers=curious("old")) as talk:
        asks = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}}
        wanted = await talk.ask("tools/call", {"name": "it_paint", "arguments": {"thing": "door"}, **asks})
        assert wanted["result"]["resultType"] == "input_required"
        assert await talk.hang_up() == (0, [])
