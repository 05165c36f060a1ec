"""What the official suite wants a server to have that gives contents: tools, resources, prompts and completions."""

import asyncio
import io
import json
import struct
import wave
import zlib
from base64 import b64encode
from typing import Annotated, Any

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Message
from fastmcp.tools.base import Tool, ToolResult
from mcp_types import AudioContent, ContentBlock, EmbeddedResource, ImageContent, TextContent, TextResourceContents
from pydantic import Field

from bascule.kit import ToolPermission, tool_permission

PAUSE = 0.05
"""Seconds between two notifications, as the suite asks for."""

READS = tool_permission(ToolPermission.READ)
"""Every tool of the kit says what it does; to a plain FastMCP server this says nothing."""


def one_pixel() -> bytes:
    """A red picture, as small as pictures are."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def a_moment_of_silence() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(16))
    return file.getvalue()


PICTURE = ImageContent(type="image", data=b64encode(one_pixel()).decode(), mime_type="image/png")
SOUND = AudioContent(type="audio", data=b64encode(a_moment_of_silence()).decode(), mime_type="audio/wav")


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def embedded(uri: str, words: str, kind: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=words))


@READS
def test_simple_text() -> str:
    """Plain words."""
    return "This is a simple text response for testing."


@READS
def test_image_content() -> ImageContent:
    """A picture."""
    return PICTURE


@READS
def test_audio_content() -> AudioContent:
    """A sound."""
    return SOUND


@READS
def test_embedded_resource() -> EmbeddedResource:
    """A resource inside the result."""
    return embedded("test://embedded-resource", "This is an embedded resource content.")


@READS
def test_multiple_content_types() -> list[ContentBlock]:
    """Words, a picture and a resource."""
    data = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return [text("Multiple content types test:"), PICTURE, data]


@READS
def test_error_handling() -> str:
    """Fails, and says so."""
    raise ToolError("This tool intentionally returns an error for testing")


@READS
async def test_tool_with_logging(ctx: Context) -> str:
    """Logs three lines while it works."""
    await ctx.info("Tool execution started")
    await asyncio.sleep(PAUSE)
    await ctx.info("Tool processing data")
    await asyncio.sleep(PAUSE)
    await ctx.info("Tool execution completed")
    return "logged"


@READS
async def test_logging_tool(ctx: Context) -> str:
    """Logs one line, to whom wants it."""
    await ctx.info("A line for those who asked for lines")
    return "logged"


@READS
async def test_tool_with_progress(ctx: Context) -> str:
    """Says three times how far it is."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100)
        await asyncio.sleep(PAUSE)
    return "done"


@READS
async def test_reconnection(ctx: Context) -> str:
    """Hangs up while it works; the client comes back for the result."""
    await ctx.close_sse_stream()
    await asyncio.sleep(PAUSE)
    return "the result, after all"


@READS
def test_header(
    region: Annotated[str, Field(description="Also sent as a header", json_schema_extra={"x-mcp-header": "Region"})],
) -> str:
    """Has an argument that is sent as a header too."""
    return region


GIVING = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_logging,
    test_logging_tool,
    test_tool_with_progress,
    test_reconnection,
    test_header,
)
"""Tools that give one kind of content each, that fail, and that say how far they are."""


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""Has every keyword of JSON Schema 2020-12 that the suite looks for."""


class SchemaTool(Tool):
    """A tool whose schema is written by hand."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content=json.dumps(arguments))


def with_a_schema() -> Tool:
    return SchemaTool(
        name="json_schema_2020_12_tool",
        description="Has JSON Schema 2020-12 features",
        parameters=SCHEMA,
        meta={"dev.bascule/permissions": ["read"]},
    )


def add_resources(mcp: FastMCP[Any]) -> None:
    @mcp.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """Words that never change."""
        return "This is the content of the static text resource."

    @mcp.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """A picture that never changes."""
        return one_pixel()

    @mcp.resource("test://watched-resource", mime_type="text/plain")
    def watched() -> str:
        """What a client may want to be told of."""
        return "watched"

    @mcp.resource("test://template/{id}/data", mime_type="application/json")
    def data(id: str) -> str:  # noqa: A002 -- the suite names it so
        """What belongs to one id."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def add_prompts(mcp: FastMCP[Any]) -> None:
    @mcp.prompt
    def test_simple_prompt() -> str:
        """A prompt that takes nothing."""
        return "This is a simple prompt for testing."

    @mcp.prompt
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A prompt that takes two arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @mcp.prompt
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803 -- the suite names it so
        """A prompt with a resource in it."""
        words = "Please process the embedded resource above."
        return [Message(embedded(resourceUri, "Embedded resource content for testing.")), Message(words)]

    @mcp.prompt
    def test_prompt_with_image() -> list[Message]:
        """A prompt with a picture in it."""
        return [Message(PICTURE), Message("Please analyze the image above.")]

    @mcp.completion
    def complete(_ref: Any, argument: Any, _context: Any) -> list[str]:
        return [word for word in ("paris", "park", "party", "test") if word.startswith(argument.value)]
