"""A server of the kit that tells what it finds where it runs, and does to it what it is told to."""

import os
import socket
from pathlib import Path
from typing import Any

from bascule.kit import (
    DataSensitivity,
    PrivateData,
    ToolPermission,
    create_mcp_server,
    get_session_id,
    get_user_id,
    tool_permission,
)
from bascule.workspace import current_workspace, workspace_to_host_path

mcp = create_mcp_server("boxed")


@mcp.tool
@tool_permission(ToolPermission.READ)
def who() -> dict[str, str]:
    """Who asks, and where this is."""
    return {
        "user": get_user_id(),
        "session": get_session_id(),
        "lane": os.environ.get("BASCULE_LANE", ""),
        "level": PrivateData().sensitivity.name,
        "place": workspace_to_host_path("/workspace/a"),
    }


@mcp.tool
@tool_permission(ToolPermission.WRITE)
def keep(path: str, text: str) -> list[str]:
    """Keep a text, and list what there is."""
    workspace = current_workspace()
    assert workspace is not None
    workspace.write_text(path, text)
    return [entry.name for entry in workspace.list()]


@mcp.tool
@tool_permission(ToolPermission.READ)
def salaries(dataset: str = "salaries", sensitivity: str = "confidential") -> list[int]:
    """What everybody earns."""
    PrivateData().add_private_dataset(dataset, DataSensitivity[sensitivity.upper()])
    return [3, 1, 2]


@mcp.tool
@tool_permission(ToolPermission.CONNECT)
def publish(text: str) -> str:
    """Tell the world."""
    return f"published {text}"


@mcp.tool
@tool_permission(ToolPermission.READ)
def said(line: str) -> str:
    """Reply of the runtime to a line that is sent as a request to raise the level."""
    ours, theirs = socket.socketpair()
    with ours, socket.socket(fileno=os.dup(int(os.environ["BASCULE_RAISE_DESCRIPTOR"]))) as inherited:
        with theirs:
            socket.send_fds(inherited, [b"\n"], [theirs.fileno()])
        ours.sendall(line.encode() + b"\n")
        return ours.recv(8192).decode()


@mcp.tool
@tool_permission(ToolPermission.READ)
def found(state: str, key: str) -> dict[str, Any]:
    """All that could help to speak as somebody else: what this process was started with, and files that hold the key."""
    started = Path("/proc/self/environ").read_bytes().decode().split("\0")
    return {
        "started with": {each.partition("=")[0]: each.partition("=")[2] for each in started if each},
        "environment": sorted(name for name in os.environ if name.startswith("BASCULE")),
        "state": Path(state).exists(),
        "keys": [str(path) for path in _files() if key in _start_of(path)],
    }


def _files() -> list[Path]:
    """Of all that is seen here, but for programs of the system, the folders that may hold something of ours."""
    places = [Path(place) for place in ("/run", "/workspace", "/home", "/tmp", "/var", "/etc", "/root", "/state")]
    return [path for place in places for path in place.rglob("*") if path.is_file() and not path.is_symlink()][:20_000]


def _start_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(4096).hex()
    except OSError:
        return ""


if __name__ == "__main__":
    mcp.run()
