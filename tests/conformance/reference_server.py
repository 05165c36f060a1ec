"""The same server by the protocol's own SDK, with nothing of ours in it: what a gateway is judged in front of."""

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

from contents import GIVING, SCHEMA, add_prompts, add_resources, test_error_handling
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from fastmcp.prompts import Message
from fastmcp.server.event_store import EventStore
from furnished import BACK_IN, serve_app
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import (
    Completion,
    EmptyResult,
    InputRequiredResult,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from questions import ASKING_BY_ANSWERING, ASKING_WHILE_RUNNING, test_input_required_result_prompt

Function = Callable[..., Any]


def with_its_context(function: Function) -> Function:
    """The same function, given the SDK's own context: what is used of either, both have."""
    made = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    made.__doc__ = function.__doc__
    made.__annotations__ = {
        name: Context if hint is FastContext else hint for name, hint in function.__annotations__.items()
    }
    return made


def in_its_words(prompt: Function) -> Function:
    """The same prompt, its messages as the SDK takes them."""

    def converted(given: Any) -> Any:
        if isinstance(given, str | InputRequiredResult):
            return given
        return [{"role": message.role, "content": message.content} for message in cast("list[Message]", given)]

    def asked(*args: Any, **arguments: Any) -> Any:
        return converted(prompt(*args, **arguments))

    asked.__name__, asked.__doc__ = prompt.__name__, prompt.__doc__
    # What it takes is read off its signature.
    asked.__wrapped__ = with_its_context(prompt)  # pyright: ignore[reportFunctionMemberAccess]
    asked.__annotations__ = asked.__wrapped__.__annotations__  # pyright: ignore[reportFunctionMemberAccess]
    return asked


class Furnished:
    """A server of the SDK, to which prompts and resources are added as to one of FastMCP."""

    def __init__(self, server: MCPServer[Any]) -> None:
        self._server = server
        self.resource = server.resource

    def prompt(self, function: Function) -> None:
        self._server.prompt()(in_its_words(function))

    def completion(self, function: Function) -> None:
        async def complete(ref: Any, argument: Any, context: Any) -> Completion:
            return Completion(values=function(ref, argument, context))

        self._server.completion()(complete)


def test_error() -> str:
    """Fails, and says so."""
    raise ToolError("This tool intentionally returns an error for testing")


async def test_trigger_tool_change(ctx: Context[Any, Any]) -> str:
    """Says that a tool came or went."""
    await ctx.notify_tools_changed()
    return "changed"


async def test_trigger_prompt_change(ctx: Context[Any, Any]) -> str:
    """Says that a prompt came or went."""
    await ctx.notify_prompts_changed()
    return "changed"


def with_a_schema() -> Tool:
    def json_schema_2020_12_tool() -> str:
        """Has JSON Schema 2020-12 features"""
        return "called"

    made = Tool.from_function(json_schema_2020_12_tool, structured_output=False)
    return made.model_copy(update={"parameters": SCHEMA})


async def agreed(*_: object) -> EmptyResult:
    return EmptyResult()


def made() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("reference", version="1", tools=[with_a_schema()])
    for tool in (*GIVING, *ASKING_WHILE_RUNNING, *ASKING_BY_ANSWERING):
        if tool is not test_error_handling:
            server.add_tool(with_its_context(tool), structured_output=False)
    server.add_tool(test_error, test_error_handling.__name__, structured_output=False)
    for trigger in (test_trigger_tool_change, test_trigger_prompt_change):
        server.add_tool(trigger, structured_output=False)
    like_fastmcp = cast("FastMCP[Any]", Furnished(server))
    add_resources(like_fastmcp)
    add_prompts(like_fastmcp)
    like_fastmcp.prompt(test_input_required_result_prompt)
    # Of these the SDK's high-level server has none, and its low-level one is where it says to add them.
    below = server._lowlevel_server  # pyright: ignore[reportPrivateUsage]
    below.add_request_handler("logging/setLevel", SetLevelRequestParams, agreed)
    below.add_request_handler("resources/subscribe", SubscribeRequestParams, agreed)
    below.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, agreed)
    return server


if __name__ == "__main__":
    if "--stdio" in sys.argv:
        made().run("stdio")
    else:
        serve_app(made().streamable_http_app(event_store=EventStore(), retry_interval=BACK_IN), "/mcp")
