"""A server of our kit in a process of its own. Arguments: `stdio`, or `http PORT`."""

import sys

from bascule.config import AuthSettings
from bascule.kit import (
    DataSensitivity,
    PrivateData,
    ToolFatalError,
    ToolPermission,
    ToolRetryError,
    create_mcp_server,
    get_session_id,
    get_user_id,
    tool_permission,
)

way, *rest = sys.argv[1:]
options = {"development": "me"} if way == "http" else {"auth": AuthSettings()} if way == "tokens" else {}
mcp = create_mcp_server("script", **options)  # pyright: ignore[reportArgumentType]


def deeper(depth: int, words: str) -> None:
    if depth:
        deeper(depth - 1, words)
    raise LookupError(f"no row for {words}")


@mcp.tool
@tool_permission(ToolPermission.READ)
def crash(words: str) -> str:
    deeper(4, words)
    return "never"


@mcp.tool
@tool_permission(ToolPermission.READ)
async def crash_later(words: str) -> str:
    return crash(words)


@mcp.tool
@tool_permission(ToolPermission.READ)
def retry() -> None:
    raise ToolRetryError("there is no such city; try Rome", code="NO_CITY")


@mcp.tool
@tool_permission(ToolPermission.READ)
def give_up() -> None:
    raise ToolFatalError("the licence has ended")


@mcp.tool
@tool_permission(ToolPermission.READ)
def whoami() -> str:
    return f"{get_user_id()}/{get_session_id()}"


@mcp.tool
@tool_permission(ToolPermission.READ)
def patients() -> str:
    PrivateData().add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)
    return "Jane Roe"


@mcp.tool
@tool_permission(ToolPermission.CONNECT)
def send() -> str:
    return "sent"


if __name__ == "__main__":
    if way == "stdio":
        mcp.run("stdio")
    else:
        mcp.run("http", port=int(rest[0]))
