"""Content blocks, and replies made of them."""

from typing import Any

import pytest
from fastmcp.tools.base import ToolResult
from fastmcp.utilities.types import Image
from mcp_types import CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents

from bascule.config.model.result_presets import Preset
from bascule.kit.context_result import is_content, is_reply, shortened_content, shortened_reply
from bascule.result_limits.limiter import META

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
