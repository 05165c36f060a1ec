"""Servers as people have them start in a box unchanged, in every lane, and answer."""

import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule.core.sensitivity import Lane
from bascule.sandbox.spec.engine import Engine
from bascule.transports.dispatcher import Dispatcher, Request
from support.boxes import WITHIN, link_to, ordered
from support.boxes import engine as engine  # noqa: PLC0414 -- a fixture
from support.children import descendants, name_of
from support.servers import SERVERS, argv
from support.waiting import fail_after

TIME = str(Path(sys.executable).with_name("mcp-server-time"))
ECHO = (SERVERS / "echo.py").read_text()

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}

NODE_SERVER = """
const { answer } = require("answers");
const sibling = require("./sibling");
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.id !== undefined) {
        const result = message.method === "tools/call" ? answer(sibling) : { protocolVersion: "2025-11-25" };
        console.log(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    }
});
"""


@asynccontextmanager
async def started(engine: Engine, *argv: str, **more: Any) -> AsyncGenerator[Dispatcher]:
    """A server in a box, introduced."""
    link = link_to(engine, ordered(*argv, **more))
    async with fail_after(WITHIN, "a server in a box"):
        try:
            await link.open()
            await link.send(Request("initialize", dict(HELLO), WITHIN))
            await link.notify("notifications/initialized")
            yield link
        finally:
            await link.close(2.0)


async def echoed(link: Dispatcher, message: str = "through the wall") -> str:
    answer = await link.send(Request("tools/call", {"name": "echo", "arguments": {"message": message}}, WITHIN))
    return answer["content"][0]["text"]


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.long
@pytest.mark.parametrize("lane", list(Lane))
async def test_a_server_from_pypi_answers_in_every_lane(engine: Engine, lane: Lane) -> None:
    async with started(engine, TIME, lane=lane) as link:
        call = {"name": "get_current_time", "arguments": {"timezone": "UTC"}}
        answer = await link.send(Request("tools/call", call, WITHIN))
    assert "UTC" in answer["content"][0]["text"]


async def test_a_script_and_what_lies_beside_it(engine: Engine, tmp_path: Path) -> None:
    written(tmp_path / "tools/beside.py", ECHO)
    script = written(tmp_path / "tools/server.py", "import runpy; runpy.run_module('beside', run_name='__main__')")
    async with started(engine, "python3", str(script), env={"PATH": "/usr/bin:/bin"}) as link:
        assert await echoed(link) == "through the wall"


async def test_a_relative_script_in_its_folder(engine: Engine, tmp_path: Path) -> None:
    written(tmp_path / "p/src/server.py", ECHO)
    async with started(
        engine, "python3", "src/server.py", cwd=str(tmp_path / "p"), env={"PATH": "/usr/bin:/bin"}
    ) as link:
        assert await echoed(link) == "through the wall"


async def test_the_python_of_a_virtual_environment_and_a_project_installed_into_it(
    engine: Engine, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    written(tmp_path / "project/src/mine.py", ECHO)
    packages = next((tmp_path / "venv/lib").glob("python*")) / "site-packages"
    written(packages / "mine.pth", f"{tmp_path}/project/src\n")
    async with started(engine, str(tmp_path / "venv/bin/python"), "-m", "mine") as link:
        assert await echoed(link) == "through the wall"


async def test_a_tool_of_uv_behind_its_link(engine: Engine, tmp_path: Path) -> None:
    """Laid out as `uv tool install` does it: an environment in a folder of uv's, and a link on the PATH."""
    tool = tmp_path / ".local/share/uv/tools/echo"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tool)], check=True)
    written(tool / "bin/echo-server", f"#!{tool}/bin/python\n{ECHO}")
    folder = tmp_path / ".local/bin"
    folder.mkdir(parents=True)
    (folder / "echo-server").symlink_to(tool / "bin/echo-server")
    async with started(engine, "echo-server", env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(tmp_path)}) as link:
        assert await echoed(link) == "through the wall"


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node (Debian: apt-get install nodejs)")
@pytest.mark.long
async def test_a_script_of_node_with_its_packages(engine: Engine, tmp_path: Path) -> None:
    project = tmp_path / "project"
    written(project / "package.json", "{}")
    written(project / "build/index.js", NODE_SERVER)
    written(project / "build/sibling.js", 'module.exports = "a sibling";')
    answers = "exports.answer = (text) => ({ content: [{ type: 'text', text }] });"
    written(project / "node_modules/answers/index.js", answers)
    for lane in (Lane.OPEN, Lane.SEALED):
        async with started(engine, "node", str(project / "build/index.js"), lane=lane) as link:
            assert await echoed(link) == "a sibling"


async def test_closing_leaves_nothing_of_a_box(engine: Engine) -> None:
    async with started(engine, *argv("echo"), lane=Lane.OPEN):
        running = programs()
    assert engine.kind != "bubblewrap" or "bwrap" in running
    assert not programs() & {"bwrap", "pasta", "slirp4netns", "pasta.avx2"}


def programs() -> set[str]:
    """What runs beneath us, by name."""
    return {name_of(pid) for pid in descendants()}
