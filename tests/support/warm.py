"""Programs of the tests without the second that it takes to import what they need.

Thousands of programs are started, and most of their time goes into imports: of the MCP SDK, of FastMCP, of ours. A warm
process has imported it all once and forks for each. What runs is the same program, in a process of its own with its own
folder, environment and streams; what the tests start stands for it (see `warm_start`). `make soak` starts all anew.

Not for programs whose start is what a test is about, nor for those that are looked at from outside: the memory, the
children and the environment that the kernel shows are those of the one that stands for it.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from support import warm_start
from support.children import lasting

COMMAND = Path(sys.executable).with_name("bascule")

PROGRAM = Path(__file__).with_name("warm_process.py")
MODULES = (
    *("anyio._backends._asyncio", "fastmcp", "fastmcp.tools", "griffe", "uvicorn"),
    *("fastmcp.server.context", "fastmcp.server.middleware", "fastmcp.server.middleware.dereference"),
    *("fastmcp.server.sessions", "fastmcp.server.transforms.catalog"),
    *("mcp.client.stdio", "mcp.server.elicitation", "mcp.server.lowlevel", "mcp.server.mcpserver"),
    *("mcp.server.mcpserver.resolve", "mcp.server.stdio", "mcp.server.streamable_http_manager"),
    *(f"bascule.{room}.*" for room in ("cli", "dashboard", "demo", "gateway", "kit", "runtime", "transports")),
)
"""Those of a package with a star are all that it has."""


def python() -> str:
    """Takes the place of `sys.executable` where a script, a module or a text is run."""
    return sys.executable if _cold() else str(_folder() / "python")


def bascule() -> Path:
    """Takes the place of the command."""
    return COMMAND if _cold() else _folder() / "bascule"


def _cold() -> bool:
    return os.environ.get("BASCULE_SOAK") == "1" or sys.platform != "linux"


_kept = ExitStack()
"""What lasts as long as this process."""


def begin() -> None:
    """Start to import. Who goes on to fork has the warm process in common with its forks once it has asked for a program."""
    if not _cold():
        _begun()


@cache
def _folder() -> Path:
    """Where the programs lie that stand for others."""
    folder, process = _begun()
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return folder


@cache
def _begun() -> "tuple[Path, subprocess.Popen[bytes]]":
    """The warm process, which ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    address = str(folder / "door")
    told = {name: value for name, value in os.environ.items() if name.startswith(warm_start.READ_AT_START)}
    for name, first in (("python", []), ("bascule", [str(COMMAND)])):
        started = f"start({address!r}, {sys.executable!r}, {told!r}, {first!r})"
        file = folder / name
        file.write_text(f"#!{sys.executable} -SE\n{Path(warm_start.__file__).read_text()}\n\n{started}\n")
        file.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), address, *MODULES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    atexit.register(_end, process, folder)
    _kept.enter_context(lasting(lambda: process.pid))
    return folder, process


def _end(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    with process:
        assert process.stdin is not None
        process.stdin.close()
    shutil.rmtree(folder)
