"""What a client of either era may ask for, beside tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from bascule.core.prompt import PromptArgument, PromptSpec
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolKey, ToolSpec
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.handler import Desk, prompt, resource, template, tool
from bascule.identity.signed_state import Seal
from support.offers import offering, result
from support.runtime import a_tool, at_work, obeying

SEAL = Seal(Path("nowhere"), lambda: 0.0)
"""Nothing is sealed here."""

PROMPT = {"name": "sum", "description": "Sums up.", "arguments": [{"name": "style", "required": True}]}


def asked(method: str, *, new: bool = True, **params: Any) -> Asked:
    return Asked(method, params, 1, {}, new)


@pytest.fixture
def offers(tmp_path: Path) -> Any:
    return offering(tmp_path, uris=("notes://a",), templates=("notes://{day}",), prompts=(PROMPT,))


@pytest.mark.parametrize("new", [True, False])
async def test_everything_that_servers_offer_is_listed_and_used(offers: Any, new: bool):
    async with at_work(offers) as session:
        desk = Desk(session, SEAL)

        async def ask(method: str, **params: Any) -> Any:
            served = await desk.serve(asked(method, new=new, **params))
            return served if isinstance(served, dict) else json.loads(bytes(served))

        assert (await ask("resources/list"))["resources"] == [{"name": "notes://a", "uri": "notes://a"}]
        assert (await ask("resources/templates/list"))["resourceTemplates"][0]["uriTemplate"] == "notes://{day}"
        assert (await ask("prompts/list"))["prompts"][0]["name"] == "work_sum"
        read = await ask("resources/read", uri="notes://a")
        assert read["contents"][0]["text"] == "of work"
        assert ("ttlMs" in read) is new
        said = await ask("prompts/get", name="work_sum", arguments={"style": "short"})
        assert said["messages"][0]["content"]["text"] == "Hi."
        ref = {"type": "ref/prompt", "name": "work_sum"}
        completed = await ask("completion/complete", ref=ref, argument={"name": "style", "value": "o"})
        assert completed["completion"]["values"] == ["one", "two"]
        template = {"type": "ref/resource", "uri": "notes://{day}"}
        given = {"arguments": {"month": "May"}}
        await ask("completion/complete", ref=template, argument={"name": "day", "value": ""}, context=given)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {}, -32602),
        ("tools/call", {"name": 5}, -32602),
        ("tools/call", {"name": "work_act", "arguments": [1]}, -32602),
        ("resources/read", {}, -32602),
        ("resources/read", {"uri": "other://x"}, -32602),
        ("prompts/get", {"name": "nope"}, -32602),
        ("prompts/get", {"name": "work_sum", "arguments": "x"}, -32602),
        ("prompts/get", {"name": "work_sum"}, -32602),
        ("completion/complete", {}, -32602),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a"}}, -32602),
        ("completion/complete", {"ref": {"name": "x"}, "argument": {"name": "a", "value": "b"}}, -32602),
    ],
)
async def test_what_cannot_be_served_is_told(offers: Any, method: str, params: dict[str, Any], code: int):
    async with at_work(offers) as session:
        with pytest.raises(Rejected) as caught:
            await Desk(session, SEAL).serve(asked(method, **params))
    assert caught.value.code == code


async def test_a_list_is_written_once_for_as_long_as_it_is_the_same(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool("act"))) as session:
        desk = Desk(session, SEAL)
        first = await desk.serve(asked("tools/list"))
        assert await desk.serve(asked("tools/list")) is first
        assert await desk.serve(asked("tools/list", new=False)) is not first


HEADED = {"properties": {"city": {"type": "string", "x-mcp-header": "City"}}}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("headers", "arguments", "fits"),
    [
        ({"mcp-param-city": "Bern"}, {"city": "Bern"}, True),
        ({"mcp-param-city": "Basel"}, {"city": "Bern"}, False),
        ({}, {"city": "Bern"}, False),
        ({"mcp-param-city": "Bern"}, {}, False),
        ({}, {}, True),
        (None, {"city": "Bern"}, True),
    ],
)
async def test_arguments_that_are_repeated_as_headers_must_be_the_same(
    tmp_path: Path, headers: dict[str, str] | None, arguments: dict[str, Any], fits: bool, known: bool
):
    async with at_work(obeying(tmp_path / "log", a_tool("act", HEADED))) as session:
        if known:
            await session.find("work_act")
        params = {"name": "work_act", "arguments": arguments}
        serving = Desk(session, SEAL).serve(Asked("tools/call", params, 1, {}, new=True, headers=headers))
        if fits:
            assert "isError" not in await serving  # pyright: ignore[reportOperatorIssue]
        else:
            with pytest.raises(Rejected) as caught:
                await serving
            assert caught.value.code == -32020


async def test_headers_of_a_tool_that_is_not_there_are_nobodys(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool("act"))) as session:
        with pytest.raises(Rejected) as caught:
            await Desk(session, SEAL).serve(
                Asked("tools/call", {"name": "nope"}, 1, {}, new=True, headers={"mcp-param-a": "b"})
            )
    assert caught.value.code == -32602


async def test_a_result_of_an_unknown_kind_is_no_result(tmp_path: Path):
    scenario = {"resources/read": [result(contents="none")]}
    async with at_work(offering(tmp_path, uris=("notes://a",), scenario=scenario)) as session:
        with pytest.raises(Rejected) as caught:
            await Desk(session, SEAL).serve(asked("resources/read", uri="notes://a"))
    assert caught.value.code == -32603


def test_a_tool_is_listed_by_its_exposed_name_with_what_its_server_says_of_it():
    key = ToolKey("files", "read")
    bare = ToolSpec("files_read", key, "d", input_schema={"type": "object"})
    full = ToolSpec(
        "files_read", key, "d", "Reads.", "Read", {"type": "object"}, {"type": "object"}, {"readOnlyHint": True}
    )
    assert tool(bare) == {"name": "files_read", "inputSchema": {"type": "object"}}
    assert tool(full) == {
        "name": "files_read",
        "inputSchema": {"type": "object"},
        "title": "Read",
        "description": "Reads.",
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    }


def test_resources_and_templates_are_listed_apart():
    one = ResourceSpec("files", "resource", "d", uri="file:///a", name="a", mime_type="text/plain", size=3)
    many = ResourceSpec("files", "template", "d", uri_template="file:///{x}", description="Any.")
    assert resource(one) == {"name": "a", "uri": "file:///a", "mimeType": "text/plain", "size": 3}
    assert template(many) == {"name": "file:///{x}", "uriTemplate": "file:///{x}", "description": "Any."}


def test_a_prompt_is_listed_with_its_blanks():
    blanks = (PromptArgument("style", "How.", required=True), PromptArgument("length"))
    spec = PromptSpec("notes_sum", ToolKey("notes", "sum"), "d", "Sums up.", arguments=blanks)
    assert prompt(spec) == {
        "name": "notes_sum",
        "description": "Sums up.",
        "arguments": [{"name": "style", "description": "How.", "required": True}, {"name": "length"}],
    }
