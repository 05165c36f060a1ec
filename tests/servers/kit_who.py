"""A server of the kit that says who asks, keeps notes in their workspace, and has private data."""

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
def note(text: str) -> str:
    """Keep a note."""
    workspace = current_workspace()
    assert workspace is not None
    workspace.write_text("/workspace/note.txt", text)
    return "/workspace/note.txt"


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
