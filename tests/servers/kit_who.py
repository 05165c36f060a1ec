"""A server of the kit that says who asks, keeps notes in their workspace, and has private data."""

import asyncio
import sys

from bascule.config import AuthSettings
from bascule.kit import (
    DataSensitivity,
    PrivateData,
    ToolPermission,
    create_mcp_server,
    get_session_id,
    get_user_id,
    tool_permission,
)
from bascule.workspace import current_workspace

mcp = create_mcp_server("who", auth=AuthSettings())


@mcp.tool
@tool_permission(ToolPermission.READ)
def who() -> dict[str, str]:
    """Who asks."""
    return {"user": get_user_id(), "session": get_session_id()}


@mcp.tool
@tool_permission(ToolPermission.WRITE)
async def keep(name: str, text: str) -> list[list[str]]:
    """Keep a text, and say who asks: here, in a thread, and in a task beside this one."""
    await asyncio.sleep(0)
    here = _kept(name, text)
    in_a_thread = await asyncio.to_thread(_kept, name, text)
    return [here, in_a_thread, await asyncio.create_task(_kept_later(name, text))]


async def _kept_later(name: str, text: str) -> list[str]:
    await asyncio.sleep(0.001)
    return await asyncio.to_thread(_kept, name, text)


def _kept(name: str, text: str) -> list[str]:
    workspace = current_workspace()
    assert workspace is not None
    workspace.write_text(f"/workspace/{name}", text)
    return [get_user_id(), get_session_id(), workspace.read_text(name)]


@mcp.tool
@tool_permission(ToolPermission.READ)
async def salaries() -> list[int]:
    """What everybody earns."""
    PrivateData().add_private_dataset("salaries", DataSensitivity.CONFIDENTIAL)
    return [3, 1, 2]


@mcp.tool
@tool_permission(ToolPermission.CONNECT)
async def publish(text: str) -> str:
    """Tell the world."""
    return f"published {text}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        mcp.run(transport="http", port=int(sys.argv[1]))
    else:
        mcp.run()
