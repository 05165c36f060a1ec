"""Masks of a sandbox: a server sees no config and no secrets of other servers, and reaches no process of the host through
a socket or a FIFO below the folders that it is shown."""

import asyncio
import json
import os
import shlex
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, Runtime, ToolResult
from bascule.core.sensitivity import DataSensitivity
from support.command import bascule
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("SBX-10")

LANES = ((None, "open"), (DataSensitivity.CONFIDENTIAL, "proxied"), (DataSensitivity.SECRET, "sealed"))

SECRET = "hunter2-hunter2"

SCRIPT = """
import sys
from bascule.cli.main import main
sys.argv[1:] = ["sandbox", "serve"]
sys.exit(main())
"""
"""A server as a script of a project. Its own arguments only name paths."""

CONNECT = """
import socket, sys
try:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(sys.argv[1])
        print("connected")
except OSError:
    print("not connected")
"""

FIFO = """
import os, sys
try:
    pipe = os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK)
except OSError:
    pipe = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
try:
    print("read", os.read(pipe, 100).decode())
    os.write(pipe, b"from the sandbox")
except OSError:
    print("not written")
"""


class Project:
    """A folder with a server's script, the config that starts it, and secrets of other servers."""

    def __init__(self, folder: Path, config: str = "bascule.yaml") -> None:
        self.folder = folder / "project"
        self.data = folder / "data"
        self.config = self.folder / config
        for path in (self.folder / "sub/deep", self.folder / ".cursor/rules", self.folder / ".gemini", self.data):
            path.mkdir(parents=True)
        (self.folder / "server.py").write_text(SCRIPT)
        (self.folder / "pyproject.toml").touch()
        for name in (".env", ".env.local", "sub/deep/.env", ".mcp.json", ".cursor/mcp.json", ".gemini/settings.json"):
            (self.folder / name).write_text(f"TOKEN={SECRET}")
        for name in (".env.example", "readme", ".cursor/rules/style"):
            (self.folder / name).write_text("may be read")

    def start(self, *args: object, **keys: Any) -> Runtime:
        server = {
            "command": sys.executable,
            "args": [str(self.folder / "server.py"), *map(str, args)],
            "permissions": {"run": ["write", "connect"]},
            **keys,
        }
        other = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}, "required": False}
        self.config.write_text(json.dumps({"mcp_servers": {"box": server, "other": other}}))
        return Runtime.from_file(self.config)


@asynccontextmanager
async def session_of(runtime: Runtime) -> AsyncGenerator[AgentSession]:
    async with fail_after(150), runtime:
        yield runtime.session("alice", "s-1")


async def said(session: AgentSession, line: str) -> str:
    outcome = await session.call("box_run", {"line": line})
    assert isinstance(outcome, ToolResult), outcome
    return outcome.structured["stdout"].strip()


async def python(session: AgentSession, code: str, path: Path) -> str:
    return await said(session, shlex.join([sys.executable, "-I", "-S", "-c", code, str(path)]))


async def on_lane(session: AgentSession, level: DataSensitivity | None, lane: str) -> None:
    if level is not None:
        await session.add_private_dataset("payroll", level)
    assert await said(session, "echo $BASCULE_LANE") == lane


@contextmanager
def listening(path: Path) -> Generator[None]:
    """A server of the host on a Unix socket, which every user may connect to."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        yield


@contextmanager
def fifo(path: Path) -> Generator[int]:
    """A FIFO with a process of the host at its other end, which has written to it."""
    os.mkfifo(path)
    path.chmod(0o777)
    end = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(end, b"from the host")
        yield end
    finally:
        os.close(end)


@pytest.mark.parametrize("config", ["bascule.yaml", "servers.json"])
async def test_no_lane_shows_the_config_or_secrets_of_other_servers(engine: str, tmp_path: Path, config: str):
    project = Project(tmp_path, config)
    async with session_of(project.start(project.folder)) as session:
        for level, lane in LANES:
            await on_lane(session, level, lane)
            assert await said(session, f"grep -rl {SECRET} {project.folder}; true") == ""
            assert await said(session, f"cat {project.config} {project.folder}/.env; echo $?") == "0"
            assert await said(session, f"ls -A {project.folder}/.cursor") == ""
            assert await said(session, f"cat {project.folder}/.env.example") == "may be read"
            refused = await said(session, f"echo x 2>&1 > {project.folder}/.cursor/mcp.json; echo $?")
            assert not refused.endswith("\n0")


async def test_mounts_bring_back_exactly_the_file_or_folder_that_they_name(engine: str, tmp_path: Path):
    project = Project(tmp_path)
    shown = (project.folder, project.folder / ".env", project.folder / ".cursor/rules", project.config)
    mounts = [{"path": str(path)} for path in shown]
    async with session_of(project.start(sandbox={"mounts": mounts})) as session:
        found = await said(session, f"grep -rl {SECRET} {project.folder}; true")
        assert sorted(found.split()) == sorted(map(str, (project.folder / ".env", project.config)))
        assert await said(session, f"cat {project.folder}/.cursor/rules/style") == "may be read"
        assert await said(session, f"ls -A {project.folder}/.cursor") == "rules"


async def test_an_argument_brings_back_a_file_by_its_name_but_never_the_loaded_config(engine: str, tmp_path: Path):
    project = Project(tmp_path)
    named = (project.folder / ".mcp.json", project.config, project.folder / ".env")
    async with session_of(project.start(*named)) as session:
        assert await said(session, f"grep -rl {SECRET} {project.folder}; true") == str(named[0])


async def test_a_config_outside_of_the_project_does_not_come_by_an_argument(engine: str, tmp_path: Path):
    project = Project(tmp_path)
    project.config = tmp_path / "elsewhere/servers.json"
    project.config.parent.mkdir()
    async with session_of(project.start(project.config)) as session:
        assert await said(session, f"cat {project.config} 2>/dev/null; true") == ""


async def test_no_socket_and_no_fifo_below_a_shown_folder_leads_to_the_host(engine: str, tmp_path: Path):
    project = Project(tmp_path)
    (project.data / "deep").mkdir()
    odd = project.data / "deep/a\nb"
    with listening(project.data / "s"), listening(project.folder / "s"), fifo(odd) as end, fifo(project.folder / "f"):
        async with session_of(project.start(project.data)) as session:
            for level, lane in LANES:
                await on_lane(session, level, lane)
                for path in (project.data / "s", project.folder / "s"):
                    assert await python(session, CONNECT, path) == "not connected"
                for path in (odd, project.folder / "f"):
                    assert await python(session, FIFO, path) == "read \nnot written"
        assert os.read(end, 100) == b"from the host"


async def test_a_socket_that_mounts_name_is_shown_in_the_open_lane_only(engine: str, tmp_path: Path):
    project = Project(tmp_path)
    service, other, pipe = project.data / "s", project.data / "other", project.data / "f"
    mounts = [{"path": str(path)} for path in (project.data, service)]
    with listening(service), listening(other), fifo(pipe):
        async with session_of(project.start(sandbox={"mounts": mounts})) as session:
            for level, lane in LANES:
                await on_lane(session, level, lane)
                wanted = "connected" if lane == "open" else "not connected"
                assert await python(session, CONNECT, service) == wanted
                assert await python(session, CONNECT, other) == "not connected"
                assert await python(session, FIFO, pipe) == "read \nnot written"


async def test_a_socket_that_mounts_name_alone_is_masked_in_private_lanes(engine: str, tmp_path: Path):
    project = Project(tmp_path)
    service = project.data / "s"
    with listening(service):
        async with session_of(project.start(sandbox={"mounts": [{"path": str(service)}]})) as session:
            assert await python(session, CONNECT, service) == "connected"
            await session.add_private_dataset("payroll", DataSensitivity.SECRET)
            assert await python(session, CONNECT, service) == "not connected"


async def test_a_masked_file_that_is_replaced_ends_the_sandbox_and_the_next_one_has_masks(engine: str, tmp_path: Path):
    project = Project(tmp_path)
    keys = {"restart": {"attempts": 5, "backoff": 0.1}}
    async with session_of(project.start(**keys)) as session:
        assert await said(session, f"touch ~/first; cat {project.folder}/.env") == ""
        fresh = project.folder / "fresh"
        fresh.write_text(f"TOKEN=new-{SECRET}")
        fresh.replace(project.folder / ".env")
        for _ in range(600):
            outcome = await session.call("box_run", {"line": "ls ~"})
            if isinstance(outcome, ToolResult) and not outcome.structured["stdout"]:
                break
            await asyncio.sleep(0.05)
        assert await said(session, f"ls ~; cat {project.folder}/.env") == ""


async def test_a_variable_file_that_appears_beside_the_config_is_not_seen(engine: str, tmp_path: Path):
    project = Project(tmp_path)
    (project.folder / ".env").unlink()
    keys = {"restart": {"attempts": 5, "backoff": 0.1}}
    async with session_of(project.start(**keys)) as session:
        assert await said(session, "touch ~/first") == ""
        (project.folder / ".env").write_text(f"TOKEN={SECRET}")
        for _ in range(600):
            outcome = await session.call("box_run", {"line": "ls ~"})
            if isinstance(outcome, ToolResult) and not outcome.structured["stdout"]:
                break
            await asyncio.sleep(0.05)
        assert await said(session, f"ls ~; cat {project.folder}/.env") == ""


async def test_inspect_and_doctor_name_what_is_masked_and_what_was_not_searched(tmp_path: Path):
    project = Project(tmp_path)
    large = tmp_path / "large"
    large.mkdir()
    for number in range(50_001):
        os.mknod(large / str(number))
    with listening(project.data / "s"):
        project.start(project.data, large)
        env = {"BASCULE_SANDBOX": "bubblewrap"}
        shape = (await bascule(project.folder, "inspect", "box", "--json", env=env)).json["box"]
        masked = {each["path"]: each["why"] for each in shape["masked"]}
        assert masked[str(project.data / "s")] == "it is a Unix socket of the host"
        assert masked[str(project.config)] == "Bascule loaded its configuration from it"
        assert masked[str(project.folder / ".cursor")] == "by its name it holds credentials"
        assert str(large) in shape["unscanned"]
        assert str(project.folder) not in shape["unscanned"]
        text = (await bascule(project.folder, "inspect", "box", env=env)).out
        assert str(project.data / "s") in text

        ran = await bascule(project.folder, "doctor", "--json", env=env)
        checks = [check for check in ran.json["checks"] if check["subject"] == "box box"]
        assert f"{project.data}/s (it is a Unix socket of the host)" in str(checks)
        assert [check["evidence"] for check in checks if check["status"] == "warn"] == [f"{large}: searched in part"]
        text = (await bascule(project.folder, "doctor", env=env)).out
        assert "masked in it" in text
        assert "too large to be searched" in text
