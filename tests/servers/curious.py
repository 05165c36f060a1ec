"""A server on the official SDK, or on FastMCP, that asks for everything it may ask for, in the way of whichever era is
spoken with it. Started as a script with `sdk` or `fastmcp` it speaks stdio."""

import sys
from typing import Annotated, Any, Literal

from fastmcp import Context as FastContext
from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import (
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequiredResult,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

ADDRESS = "https://example.test/agree"
SCHEMA = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}


class Colour(BaseModel):
    """What a person is asked for."""

    colour: Literal["red", "green"]
    shade: str = "pale"


def which() -> Elicit[Colour]:
    return Elicit("Which colour?", Colour)


def poem() -> Sample:
    said = SamplingMessage(role="user", content=TextContent(type="text", text="A line, please."))
    return Sample([said], max_tokens=10)


def where() -> ListRoots:
    return ListRoots()


async def paint(thing: str, chosen: Annotated[ElicitationResult[Colour], Resolve(which)]) -> str:
    if isinstance(chosen, AcceptedElicitation):
        return f"{chosen.data.shade} {chosen.data.colour} {thing}"
    return chosen.action


async def write(line: Annotated[CreateMessageResult, Resolve(poem)]) -> str:
    assert isinstance(line.content, TextContent)
    return f"{line.content.text} ({line.model})"


async def look(found: Annotated[ListRootsResult, Resolve(where)]) -> str:
    return " ".join(f"{root.name}={root.uri}" for root in found.roots)


async def everything(
    chosen: Annotated[Colour, Resolve(which)],
    line: Annotated[CreateMessageResult, Resolve(poem)],
    found: Annotated[ListRootsResult, Resolve(where)],
) -> str:
    assert isinstance(line.content, TextContent)
    return f"{chosen.colour}, {line.content.text}, {len(found.roots)}"


async def visit(ctx: Context, name: str = "agreement-1") -> str | InputRequiredResult:
    """Sends a person to an address."""
    if ctx.protocol_version is not None and ctx.protocol_version < "2026-07-28":
        return (await ctx.elicit_url("Agree, please.", ADDRESS, name)).action
    if ctx.input_responses is None:
        question = ElicitRequest(params=ElicitRequestURLParams(message="Agree, please.", url=ADDRESS))
        return InputRequiredResult(input_requests={"agree": question})
    answer: Any = ctx.input_responses["agree"]
    return answer.action


async def finish(ctx: Context, name: str = "agreement-1") -> str:
    """Says that they have finished there, which only the old era has a word for."""
    await ctx.request_context.session.send_elicit_complete(name)
    return "said"


async def _coloured(ctx: Any, words: str) -> str | InputRequiredResult:
    """What a prompt or a resource says once a colour is known."""
    if ctx.input_responses is None:
        params = ElicitRequestFormParams(message="Which colour?", requested_schema=SCHEMA)
        return InputRequiredResult(input_requests={"which": ElicitRequest(params=params)}, request_state="asked")
    answer: Any = ctx.input_responses["which"]
    return f"{words}: {answer.content['colour']}" if answer.content else answer.action


async def describe(ctx: Context) -> str | InputRequiredResult:
    """A prompt that asks first."""
    if ctx.protocol_version is not None and ctx.protocol_version < "2026-07-28":
        chosen = await ctx.elicit("Which colour?", Colour)
        return f"Describe: {chosen.data.colour}" if isinstance(chosen, AcceptedElicitation) else chosen.action
    return await _coloured(ctx, "Describe")


async def picture(name: str, ctx: Context) -> str | InputRequiredResult:
    """A resource that asks first."""
    if ctx.protocol_version is not None and ctx.protocol_version < "2026-07-28":
        chosen = await ctx.elicit("Which colour?", Colour)
        return f"{name}: {chosen.data.colour}" if isinstance(chosen, AcceptedElicitation) else chosen.action
    return await _coloured(ctx, name)


def sdk() -> Any:
    server = MCPServer("curious")
    for tool in (paint, write, look, everything, visit, finish):
        server.add_tool(tool)
    server.prompt()(describe)
    server.resource("picture://{name}")(picture)
    return server


def fastmcp() -> Any:
    server = FastMCP("curious")

    @server.tool
    async def paint(thing: str, ctx: FastContext) -> Any:
        if ctx.request_context is not None and ctx.session.protocol_version < "2026-07-28":
            answer = await ctx.elicit("Which colour?", Colour)
            return f"{answer.data.shade} {answer.data.colour} {thing}" if answer.action == "accept" else answer.action
        answer = await _coloured(ctx, thing)
        return f"pale {answer.split(': ')[1]} {thing}" if isinstance(answer, str) and ": " in answer else answer

    return server


if __name__ == "__main__":
    {"sdk": sdk, "fastmcp": fastmcp}[sys.argv[1]]().run()
