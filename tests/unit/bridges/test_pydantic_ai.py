"""What PydanticAI is told of tools, results and failures, and which servers are shown a token."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import ModelRetry, RunContext, ToolFailed
from pydantic_ai.messages import BinaryContent
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from bascule.bridges.pydantic_ai import ANY_OBJECT, SIGNALS, definition, shown, toolset, with_token
from bascule.config import ServerConfig, StdioTransport, StreamableHttpTransport, UnixSocketTransport
from bascule.config.secret import reveal_all
from bascule.core.errors import UsageError
from bascule.core.failure_action import Reaction, RunStopped
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.permission import Permission
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolKey, ToolSpec
from servers.actor import PIXEL
from support.live import Living, until
from support.runtime import at_work, obeying

SPEC = ToolSpec(
    name="files_read",
    key=ToolKey("files", "read"),
    digest="d",
    description="Reads a file.",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}},
    output_schema={"type": "object"},
    annotations={"readOnlyHint": True},
    permissions=frozenset({Permission.READ}),
)


def context(retries: int = 1) -> RunContext[None]:
    return RunContext(deps=None, model=TestModel(), usage=RunUsage(), max_retries=retries)


def result(*content: Any, **more: Any) -> ToolResult:
    return ToolResult({"content": [*content], **more}, "work", "act", Lane.OPEN, {})


def picture(data: str = PIXEL, mime: Any = "image/png", kind: str = "image") -> dict[str, Any]:
    return {"type": kind, "data": data, "mimeType": mime}


def test_a_definition_says_where_a_tool_is_from_and_what_it_may_do():
    told = definition(SPEC)

    assert (told.name, told.description, told.parameters_json_schema) == (
        "files_read",
        "Reads a file.",
        SPEC.input_schema,
    )
    assert told.metadata == {
        "server": "files",
        "tool": "read",
        "permissions": ["read"],
        "annotations": {"readOnlyHint": True},
    }


def test_only_who_is_given_structured_content_is_promised_some():
    assert definition(SPEC).return_schema is None
    assert definition(SPEC, promised=True).return_schema == {"type": "object"}
    assert definition(replace(SPEC, output_schema=None), promised=True).return_schema is None


def test_a_tool_without_a_description_goes_by_its_title():
    assert definition(replace(SPEC, description="", title="Read")).description == "Read"
    assert definition(replace(SPEC, description="")).description is None


async def test_all_tools_share_one_validator_and_definitions_live_as_long_as_their_tools():
    server = Living("one", "two", ttl=3_600_000)
    async with at_work(server.config()) as session:
        tools = toolset(session)
        first, again = await tools.get_tools(context()), await tools.get_tools(context())
        await server.become(one="Changed.", two="Does as told.")
        await until(session.offered, lambda specs: specs[0].description == "Changed.")
        changed = await tools.get_tools(context())

    assert {id(tool.args_validator) for tool in first.values()} == {id(ANY_OBJECT)}
    assert [first[name].tool_def is again[name].tool_def for name in ("work_one", "work_two")] == [True, True]
    assert changed["work_one"].tool_def.description == "Changed."
    assert changed["work_two"].tool_def is first["work_two"].tool_def


@pytest.mark.parametrize(("given", "held"), [(None, 3), (0, 0), (7, 7)])
async def test_the_agents_number_of_retries_holds_unless_another_is_given(tmp_path: Path, given: int | None, held: int):
    async with at_work(obeying(tmp_path / "log")) as session:
        (tool,) = (await toolset(session, max_retries=given).get_tools(context(3))).values()

    assert tool.max_retries == held


def test_text_alone_is_text():
    assert shown(result({"type": "text", "text": "well"})) == "well"
    assert shown(result(structuredContent={"a": 1})) == "a: 1"


@pytest.mark.parametrize(("kind", "mime"), [("image", "image/png"), ("audio", "audio/wav")])
def test_pictures_and_sounds_come_after_the_text_that_names_them(kind: str, mime: str):
    words, file = shown(result({"type": "text", "text": "look"}, picture(mime=mime, kind=kind)))

    assert words == f"look\n[{kind} {mime}, 72 bytes]"
    assert isinstance(file, BinaryContent)
    assert (file.base64, file.media_type) == (PIXEL, mime)


@pytest.mark.parametrize(
    "block",
    [
        picture(mime="image/svg+xml"),
        picture(mime="text/html"),
        picture(mime=None),
        picture(mime="audio/wav"),
        picture(data="no base64!"),
        picture(data="AAAAA"),
        {"type": "image", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a.png", "blob": PIXEL, "mimeType": "image/png"}},
    ],
)
def test_what_is_no_picture_that_models_take_is_only_named(block: dict[str, Any]):
    assert isinstance(shown(result(block)), str)


def test_every_reaction_has_its_signal():
    failure = ToolFailure(FailureKind.TOOL_ERROR, "BSC-1", "no such table", fix="make one")
    signals = {reaction: SIGNALS[reaction](failure) for reaction in Reaction}

    assert signals[Reaction.RETRY] == ModelRetry("no such table\nmake one")
    assert signals[Reaction.MOVE_ON] == ToolFailed("no such table\nmake one")
    assert isinstance(signals[Reaction.STOP], RunStopped)


def remote(**more: Any) -> ServerConfig:
    headers = {"authorization": "Bearer theirs", "X-Kept": "yes"}
    return ServerConfig("records", StreamableHttpTransport("http://127.0.0.1:1/mcp", headers), **more)


def headers_of(transport: Any) -> dict[str, str]:
    return reveal_all(transport.headers)


def test_a_server_and_its_twin_are_shown_the_token_in_place_of_any_other():
    twin = UnixSocketTransport("unix:///run/records.sock", {"Authorization": "Bearer theirs"})
    server = with_token(remote(isolated=twin), "mine")

    assert headers_of(server.transport) == {"X-Kept": "yes", "Authorization": "Bearer mine"}
    assert headers_of(server.isolated) == {"Authorization": "Bearer mine"}


def test_a_server_of_the_kit_is_told_by_the_token_alone():
    server = ServerConfig("records", StreamableHttpTransport("http://127.0.0.1:1/mcp"), kit=True)

    assert with_token(server, "mine").kit is False


def test_a_twin_that_is_a_process_is_shown_nothing():
    twin = StdioTransport("records")

    assert with_token(remote(isolated=twin), "mine").isolated == twin


def test_a_token_is_not_shown_in_the_config():
    assert "mine" not in repr(with_token(remote(), "mine"))


def test_a_server_that_is_a_process_has_nowhere_to_show_a_token():
    with pytest.raises(UsageError, match="reached by stdio"):
        with_token(ServerConfig("work", StdioTransport("work")), "mine")
