"""`@context_result` on plain functions and FastMCP tools, and content blocks as results."""

import inspect
import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest
from fastmcp import Client, FastMCP
from fastmcp.tools.base import ToolResult
from fastmcp.utilities.types import Image
from mcp_types import CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents

from bascule.config.model.result_presets import PRESETS, Preset
from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.kit.request_context import Home
from bascule.kit.result_preview import CURRENT, context_result, is_content, is_reply, shortened_content, shortened_reply
from bascule.result_limits.limiter import META
from bascule.result_limits.shrink import NOTICE
from bascule.workspace import Workspace
from bascule.workspace.host_paths import CURRENT as WORKSPACE
from support.waiting import fail_after

ROWS = [{"id": n, "name": "somebody"} for n in range(1000)]


class Row(TypedDict):
    id: int
    name: str


@dataclass
class Report:
    rows: list[Row]


@pytest.fixture
def workspace(tmp_path: Path) -> Generator[Workspace]:
    with Workspace.of(Principal("alice", "s-1"), tmp_path) as made:
        token = WORKSPACE.set(lambda: made)
        yield made
        WORKSPACE.reset(token)


def saved(workspace: Workspace) -> bytes:
    (entry,) = workspace.list("results")
    return workspace.read_bytes(f"results/{entry.name}")


@context_result()
def text(times: int = 1, word: str = "word ") -> str:
    """Say a word again and again."""
    return word * times


@context_result("sql_query")
async def rows() -> list[dict[str, Any]]:
    return ROWS


@context_result()
def mapping() -> dict[str, Any]:
    return {"rows": ROWS}


@context_result()
def typed() -> list[Row]:
    return ROWS  # pyright: ignore[reportReturnType]


@context_result()
def report() -> Report:
    return Report(ROWS)  # pyright: ignore[reportArgumentType]


@context_result()
async def words() -> list[str]:
    return ["word"] * 5000


@context_result()
def raw() -> bytes:
    return b"\xff" * 9000


@context_result()
def untold():
    return tuple(ROWS)


@context_result()
def either(*, long: bool = True) -> str | dict[str, Any] | None:
    return {"rows": ROWS} if long else None


def test_a_short_result_is_left_as_it_is():
    assert text(3) == "word word word "
    assert either(long=False) is None


def test_a_long_text_is_saved_and_previewed(workspace: Workspace):
    shown = text(5000)
    assert len(shown) <= 5000
    assert "25,000 characters" in shown
    assert saved(workspace) == b"word " * 5000


async def test_a_long_list_of_an_async_tool_is_saved_and_stays_a_list(workspace: Workspace):
    shown = await rows()
    assert isinstance(shown, list)
    assert len(json.dumps(shown, separators=(",", ":"))) <= 2000
    assert "/workspace/results/" in shown[0][NOTICE]
    assert shown[1] == ROWS[0]
    assert json.loads(saved(workspace)) == ROWS


@pytest.mark.parametrize(("tool", "kind"), [(mapping, dict), (typed, list), (report, dict), (untold, list), (raw, str)])
def test_other_results_stay_what_they_were(tool: Callable[[], Any], kind: type, workspace: Workspace):
    assert isinstance(tool(), kind)
    assert len(saved(workspace)) > 5000


def test_without_a_workspace_the_preview_says_that_nothing_was_saved():
    shown = text(5000)
    assert len(shown) <= 5000
    assert "could not be saved, and what is not shown here is lost: there is no workspace" in shown


def test_without_room_the_preview_says_so(tmp_path: Path):
    with Workspace.of(Principal("alice", "s-1"), tmp_path, quota=8192) as small:
        token = WORKSPACE.set(lambda: small)
        shown = text(5000)
        WORKSPACE.reset(token)
    assert "could not be saved" in shown
    assert "no room" in shown


def test_an_error_goes_on_as_it_is():
    @context_result()
    def failing() -> str:
        raise ValueError("x" * 9000)

    with pytest.raises(ValueError, match="xxxx"):
        failing()


def test_presets_are_those_of_the_server(workspace: Workspace):
    token = CURRENT.set({**PRESETS, "default": Preset(characters=1234)})
    assert len(text(5000)) <= 1234
    CURRENT.reset(token)


def test_an_unknown_preset_is_refused_before_the_tool_runs():
    ran: list[int] = []

    @context_result("huge")
    def tool() -> str:
        ran.append(1)
        return ""

    with pytest.raises(UsageError, match="huge") as caught:
        tool()
    assert "default, sql_query, log_search" in caught.value.evidence
    assert not ran


def test_the_signature_is_kept():
    assert text.__name__ == "text"
    assert text.__doc__ == "Say a word again and again."
    assert str(inspect.signature(text)) == "(times: int = 1, word: str = 'word ') -> str"
    assert str(inspect.signature(typed)) == "()"
    assert inspect.iscoroutinefunction(rows)
    assert not inspect.iscoroutinefunction(text)


TOOLS = (text, rows, mapping, typed, report, words, raw, untold, either)


async def test_clients_that_validate_take_what_is_left(workspace: Workspace):
    server = FastMCP("test")
    for tool in TOOLS:
        server.tool(tool)
    async with fail_after(20), Client(server) as client:
        listed = {tool.name: tool for tool in await client.list_tools()}
        assert listed["text"].input_schema["properties"]["times"] == {"type": "integer", "default": 1}
        promising = {name for name, tool in listed.items() if tool.output_schema is not None}
        assert promising == {"text", "rows", "mapping", "words", "either"}
        for name in listed:
            given = {"times": 5000} if name == "text" else {}
            result = await client.call_tool(name, given)
            assert not result.is_error
            assert all(len(block.text) <= 5100 for block in result.content if block.type == "text"), name
            assert "/workspace/results/" in str(result.content)
        assert (await client.call_tool("rows")).data[1] == ROWS[0]
    assert len(workspace.list("results")) == len(TOOLS) + 1


def test_the_course_of_a_request_brings_the_presets_of_its_server(tmp_path: Path):
    home = Home("records", folder=tmp_path, presets={"default": Preset(characters=1234)})
    with home.course_of(Principal("alice", "s-1")):
        shown = text(5000)
    home.close()
    assert len(shown) <= 1234
    assert "The whole is in /workspace/results/" in shown
    assert CURRENT.get() is PRESETS


PRESET = Preset(characters=1000)
LONG = TextContent(type="text", text="word " * 1000)
IMAGE = ImageContent(type="image", data="A" * 8000, mime_type="image/png")
LINK = ResourceLink(type="resource_link", uri="file:///" + "x" * 3000, name="x")
INSIDE = EmbeddedResource(type="resource", resource=TextResourceContents(uri="file:///a", text="t" * 9000))


def test_what_is_a_reply_and_what_is_content():
    assert is_reply(ToolResult(content="x"))
    assert is_reply(CallToolResult(content=[]))
    assert not is_reply([LONG])
    assert is_content(LONG)
    assert is_content(["x", IMAGE])
    assert is_content(Image(data=b"x"))
    assert not is_content(["x"])
    assert not is_content("x")


def test_only_texts_are_cut():
    saved: dict[str, bytes] = {}
    shown = shortened_content([IMAGE, LONG, LINK, LONG, INSIDE], PRESET, saved.__setitem__)
    assert [block.type for block in shown] == ["image", "text", "resource_link", "resource"]
    assert (shown[0], shown[2], shown[3]) == (IMAGE, LINK, INSIDE)
    assert len(shown[1].text) <= 1000
    assert list(saved.values()) == [(LONG.text + "\n" + LONG.text).encode()]


@pytest.mark.parametrize("result", [[IMAGE], [IMAGE, "short"], IMAGE, TextContent(type="text", text="short")])
def test_what_is_short_enough_is_the_same_object(result: Any):
    assert shortened_content(result, PRESET, {}.__setitem__) is result


def test_a_block_alone_and_a_plain_text_among_blocks():
    assert len(shortened_content(LONG, PRESET, {}.__setitem__).text) <= 1000
    assert len(shortened_content([LONG.text, IMAGE], PRESET, {}.__setitem__)[0]) <= 1000


@pytest.mark.parametrize(
    "reply", [ToolResult(content=[LONG], is_error=True), CallToolResult(content=[LONG], is_error=True)]
)
def test_an_error_is_never_cut(reply: Any):
    assert shortened_reply(reply, PRESET, {}.__setitem__) is reply


@pytest.mark.parametrize(
    "reply",
    [
        ToolResult(content=[LONG, IMAGE], structured_content={"rows": ["x"] * 1000}, meta={"mine": 1}),
        CallToolResult(content=[LONG, IMAGE], structured_content={"rows": ["x"] * 1000}, _meta={"mine": 1}),
        ToolResult.from_mcp_result(
            CallToolResult(content=[LONG, IMAGE], structured_content={"rows": ["x"] * 1000}, _meta={"mine": 1})
        ),
    ],
)
def test_structured_content_that_is_too_long_is_left_out_and_told(reply: Any):
    saved: dict[str, bytes] = {}
    shown = shortened_reply(reply, PRESET, saved.__setitem__)
    assert type(shown) is type(reply)
    assert shown.structured_content is None
    assert [block.type for block in shown.content] == ["text", "image"]
    assert len(shown.content[0].text) <= 1000
    assert shown.meta["mine"] == 1
    assert {each["path"] for each in shown.meta[META]} == set(saved)
    if isinstance(shown, ToolResult):
        assert isinstance(shown.to_mcp_result(), CallToolResult)
        assert "word word " * 200 not in str(shown.to_mcp_result())


def test_a_reply_without_texts_gets_one():
    shown = shortened_reply(
        CallToolResult(content=[IMAGE], structured_content={"a": "x" * 5000}), PRESET, {}.__setitem__
    )
    assert [block.type for block in shown.content] == ["image", "text"]


def test_a_short_reply_is_the_same_object():
    reply = ToolResult(content="short", structured_content={"a": 1})
    assert shortened_reply(reply, PRESET, {}.__setitem__) is reply
