"""Furnishes a FastMCP server, ours or a plain one, with all that the official suite wants to find."""

import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from contents import GIVING, READS, add_prompts, add_resources, with_a_schema
from fastmcp import FastMCP
from fastmcp.server.event_store import EventStore
from questions import ASKING_BY_ANSWERING, ASKING_WHILE_RUNNING, test_input_required_result_prompt

PASSING = "test_passing"

BACK_IN = 100
"""Milliseconds after which a client that was hung up on comes back."""


def serve(mcp: FastMCP[Any], **options: Any) -> None:
    """At a free port of this machine, until a signal ends it."""
    app = mcp.http_app(event_store=EventStore(), retry_interval=BACK_IN, **options)
    serve_app(app, app.state.path)


def serve_app(app: Any, path: str) -> None:
    config = uvicorn.Config(app, log_level="warning", ws="none", lifespan="on", timeout_graceful_shutdown=1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
        uvicorn.Server(config).run([listener])


def furnish(mcp: FastMCP[Any]) -> None:
    for tool in (*GIVING, *ASKING_WHILE_RUNNING, *ASKING_BY_ANSWERING, *changing(mcp)):
        # The suite looks at contents; a structured copy of them would only be in the way.
        mcp.tool(tool, output_schema=None)
    mcp.add_tool(with_a_schema())
    add_resources(mcp)
    add_prompts(mcp)
    mcp.prompt(test_input_required_result_prompt)


def changing(mcp: FastMCP[Any]) -> tuple[Callable[[], str], ...]:
    """Tools that change what the server has, so that whoever wants to know can be told."""

    @READS
    def passing() -> str:
        """Is there, and soon not."""
        return "here"

    @READS
    def test_trigger_tool_change() -> str:
        """A tool comes and goes."""
        mcp.tool(passing, name=PASSING)
        mcp.local_provider.remove_tool(PASSING)
        return "changed"

    @READS
    def test_trigger_prompt_change() -> str:
        """A prompt comes and goes."""
        mcp.prompt(passing, name=PASSING)
        mcp.local_provider.remove_prompt(PASSING)
        return "changed"

    return test_trigger_tool_change, test_trigger_prompt_change
