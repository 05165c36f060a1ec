"""A server of one's own stands in the config, and is started by its name."""

import asyncio
import json
import os
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bascule import Runtime, ToolResult
from support import warm
from support.activated import activated
from support.command import environment, started
from support.pages import every_block
from support.ports import free_port
from support.waiting import fail_after

SERVER = Path(__file__).parent.parent / "servers" / "kit_who.py"


def config_at(folder: Path, port: int) -> Path:
    path = folder / "bascule.yaml"
    path.write_text(
        f"""
mcp_servers:
  records: {{type: server, target: {SERVER}, port: {port}}}
  use: {{url: "http://127.0.0.1:{port}/mcp", kit: true}}
"""
    )
    return path


@pytest.mark.requirement("CFG-7")
@pytest.mark.long
async def test_a_server_of_ones_own_is_started_by_its_name_and_used_by_another(tmp_path: Path):
    port = free_port()
    path = config_at(tmp_path, port)
    argv = (warm.bascule(), "run", "records", "--config", str(path), "--json")
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stderr is not None
    assert process.stdout is not None
    try:
        async with fail_after(60, "a server of one's own"):
            assert json.loads(await process.stdout.readline()) == {
                "name": "records",
                "url": f"http://127.0.0.1:{port}/mcp",
            }
            while b"Uvicorn running" not in (line := await process.stderr.readline()):
                assert line, "it ended"
            async with Runtime.from_file(path) as runtime:
                outcome = await runtime.session("alice", "s-1").call("use_who")
            assert isinstance(outcome, ToolResult), outcome
            assert outcome.structured == {"user": "alice", "session": "s-1"}
    finally:
        process.send_signal(signal.SIGTERM)
        await process.communicate()


async def test_the_token_of_the_page_lets_somebody_in_where_nobody_gets_in_without(tmp_path: Path):
    """What is typed on the page of commands, but for the port."""
    (line,) = (
        line
        for block in every_block()
        if block.page == "reference/cli.md"
        for line in block.text.splitlines()
        if "curl" in line
    )
    port, statuses = str(free_port()), list[str]()
    env = environment(tmp_path, activated())
    config_at(tmp_path, int(port))
    async with fail_after(60, "a server of one's own"), started(tmp_path, "run", "records") as process:
        assert process.stderr is not None
        while b"Uvicorn running" not in (said := await process.stderr.readline()):
            assert said, "it ended"
        for typed in (line, line.replace("Authorization", "X-Nothing")):
            told = f"{typed.replace('8000', port)} -s -o said -w '%{{http_code}}'"
            asking = await asyncio.create_subprocess_exec("bash", "-c", told, cwd=tmp_path, env=env, stdout=-1)
            statuses.append((await asking.communicate())[0].decode())

    # A bare GET is no request of MCP, but who makes it was let in.
    assert statuses == ["400", "401"]


@pytest.mark.requirement("CFG-7", "TRN-5")
async def test_a_server_of_ones_own_is_served_at_a_socket_file_and_at_no_port():
    # The folders of tests are deeper than a path of a socket may be.
    with TemporaryDirectory() as folder:
        path = config_at(Path(folder), 8000)
        used = path.read_text().replace("http://127.0.0.1:8000/mcp", f"unix://{folder}/records.sock")
        path.write_text(used)
        argv = (warm.bascule(), "run", "records", "--config", str(path), "--socket", f"{folder}/records.sock")
        process = await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.PIPE, env=dict(os.environ))
        assert process.stderr is not None
        try:
            async with fail_after(60, "a server at a socket"):
                while b"Uvicorn running on unix socket" not in (line := await process.stderr.readline()):
                    assert line, "it ended"
                async with Runtime.from_file(path) as runtime:
                    outcome = await runtime.session("alice", "s-1").call("use_who")
                assert isinstance(outcome, ToolResult), outcome
                assert outcome.structured == {"user": "alice", "session": "s-1"}
        finally:
            process.send_signal(signal.SIGTERM)
            await process.communicate()


@pytest.mark.requirement("CFG-7")
async def test_a_server_that_is_connected_to_is_not_started(tmp_path: Path):
    argv = (warm.bascule(), "run", "use", "--config", str(config_at(tmp_path, 8000)))
    process = await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()

    assert process.returncode == 2
    assert b"is a server that is connected to" in said
