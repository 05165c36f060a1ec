"""Servers of our kit in the tests' own process, and what is asked of them."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from fastmcp import Client, FastMCP

from bascule.core.principal import Principal
from bascule.identity.current import CURRENT as WHO
from bascule.kit import ToolPermission, create_mcp_server, tool_permission
from bascule.kit.request_context import Home
from bascule.kit.server import GovernedServer
from bascule.sensitivity.private_data import CURRENT as SEEN
from bascule.sensitivity.private_data import LABELS_KEY
from bascule.workspace.host_paths import CURRENT as WORKSPACE

ALICE = Principal("alice", "s-1")
BOB = Principal("bob", "s-2")

READ, WRITE, CONNECT = ToolPermission.READ, ToolPermission.WRITE, ToolPermission.CONNECT

reading = tool_permission(READ)
connecting = tool_permission(CONNECT)


def kit_server(folder: Path, name: str = "records", **options: Any) -> GovernedServer:
    """A server that keeps what it must in this folder."""
    return create_mcp_server(name, home=Home(name, folder=folder), **options)


@contextmanager
def on_behalf_of(principal: Principal | None) -> Generator[None]:
    """Code in this process that asks for somebody."""
    who = WHO.set(principal)
    try:
        yield
    finally:
        WHO.reset(who)


@asynccontextmanager
async def client_of(server: FastMCP[Any], principal: Principal | None = None) -> AsyncGenerator[Client[Any]]:
    with on_behalf_of(principal):
        async with Client(server) as client:
            yield client


async def called(server: FastMCP[Any], tool: str, principal: Principal | None = None, **arguments: Any) -> Any:
    """What came of one call."""
    async with client_of(server, principal) as client:
        return await client.call_tool(tool, arguments, raise_on_error=False)


def all_set() -> list[str]:
    """What is set of what is set in the course of a request: nothing, outside of one."""
    return [variable.name for variable in (WHO, WORKSPACE, SEEN) if variable.get() is not None]


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


def labels_of(result: Any) -> list[str] | None:
    return (result.meta or {}).get(LABELS_KEY)
