"""Servers in boxes, by either engine: one box for each agent session and server, its network by the lane, made again
tighter when the session becomes private, and never wider."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, Outcome, Runtime, ToolFailure, ToolResult
from bascule.core.sensitivity import DataSensitivity
from bascule.core.undo.transaction import Ending, Transaction
from support.command import BASCULE, bascule
from support.fetched import kept_on, path_with_uv
from support.fetched import shelf as shelf  # noqa: PLC0414 -- a fixture
from support.waiting import fail_after, until
from support.workspaces import in_call

SERVING = {
    "command": str(BASCULE),
    "args": ["sandbox", "serve"],
    "permissions": {"read": "read", "list": "read", "write": "write", "run": ["write", "connect"]},
}
"""A server with which a test looks around in its box."""

RUNTIME = """
import asyncio, sys, bascule
async def main():
    async with bascule.Runtime.from_file(sys.argv[1]) as runtime:
        session = runtime.session("alice", "s-1")
        outcome = await session.call("box_run", {"argv": ["true"]})
        print("ready" if outcome.ok else outcome, flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


def written(folder: Path, **more: Any) -> Path:
    config = folder / "bascule.yaml"
    config.write_text(json.dumps({"mcp_servers": {"box": {**SERVING, **more}}}))
    return config


@asynccontextmanager
async def boxed(folder: Path, **more: Any) -> AsyncGenerator[AgentSession]:
    async with fail_after(120), Runtime.from_file(written(folder, **more)) as runtime:
        yield runtime.session("alice", "s-1")


def given(outcome: Outcome) -> Any:
    assert isinstance(outcome, ToolResult), outcome
    return outcome.structured


async def said(session: AgentSession, line: str) -> str:
    """What a line of the shell says in the box."""
    return given(await session.call("box_run", {"line": line}))["stdout"].strip()


@pytest.mark.requirement("SBX-1", "SBX-4", "SBX-7")
async def test_a_box_is_what_its_lane_says_and_its_server_is_nobody(engine: str, tmp_path: Path):
    async with boxed(tmp_path) as session:
        for level, lane in (
            (None, "open"),
            (DataSensitivity.CONFIDENTIAL, "proxied"),
            (DataSensitivity.SECRET, "sealed"),
        ):
            if level is not None:
                await session.add_private_dataset("payroll", level)
            assert await said(session, "echo $BASCULE_LANE") == lane
            assert await said(session, "id -u") != "0"
            assert await said(session, "grep CapEff /proc/self/status | cut -f2") == "0" * 16
            assert await said(session, "grep NoNewPrivs /proc/self/status | cut -f2") == "1"
            assert "read-only" in (await said(session, "touch /usr/x 2>&1; touch /x 2>&1")).lower()
            interfaces = (await said(session, "tail -n +3 /proc/net/dev | cut -d: -f1")).split()
            assert (interfaces == ["lo"]) == (lane != "open"), interfaces
        twins = [receipt.twins for receipt in session.receipts]
    assert twins == [{"box": "probed"}] * 2


@pytest.mark.requirement("SBX-2")
@pytest.mark.long
async def test_a_raise_ends_the_wider_box_and_keeps_the_workspace(engine: str, tmp_path: Path):
    async with boxed(tmp_path) as session:
        given(await session.call("box_write", {"path": "/workspace/kept.txt", "text": "before"}))
        await said(session, "echo here > ~/mark")
        running = asyncio.create_task(session.call("box_run", {"argv": ["sleep", "60"], "timeout": 60}))
        for _ in range(100):
            if "sleep" in await said(session, "cat /proc/[0-9]*/comm"):
                break
        await session.add_private_dataset("payroll", DataSensitivity.SECRET)

        # What was under way in the wider box ended with it.
        cut = await running
        assert isinstance(cut, ToolFailure)
        assert await said(session, "cat ~/mark 2>&1; echo $BASCULE_LANE") != "here\nopen"
        assert (await said(session, "ls ~; echo $BASCULE_LANE")) == "sealed"
        assert given(await session.call("box_read", {"path": "/workspace/kept.txt"}))["text"] == "before"
        # There is no way back.
        await session.add_private_dataset("weather", DataSensitivity.PUBLIC)
        assert await said(session, "echo $BASCULE_LANE") == "sealed"


@pytest.mark.requirement("EXE-5")
@pytest.mark.long
async def test_a_server_in_a_sandbox_writes_on_in_a_file_that_a_failed_call_has_changed(engine: str, tmp_path: Path):
    """The server has the file open since before that call, so the undo must not put another file in its place."""
    appending = "mkfifo undone; exec 3>>log; echo first >&3; touch begun; read line <undone; echo second >&3"
    async with boxed(tmp_path) as session:
        files = session.workspace
        running = asyncio.create_task(session.call("box_run", {"line": appending, "timeout": 60}))
        await until(lambda: files.exists("begun"))
        call = Transaction()
        with in_call(call), files.open("log", "a") as log:
            log.write("not wanted")
        assert call.rollback() == (Ending.RESTORED, ())
        await asyncio.to_thread(Path(files.host_path("undone")).write_text, "go on\n")
        given(await running)

        assert files.read_text("log") == "first\nsecond\n"


@pytest.mark.long
@pytest.mark.requirement("SBX-5")
async def test_a_box_lives_as_long_as_it_may_and_the_next_call_has_a_new_one(engine: str, tmp_path: Path):
    async with boxed(tmp_path, sandbox={"session_limit": 3}, restart={"attempts": 5, "backoff": 0.1}) as session:
        await said(session, "echo here > ~/mark")
        for _ in range(200):
            outcome = await session.call("box_run", {"line": "ls ~"})
            if isinstance(outcome, ToolResult) and not given(outcome)["stdout"]:
                return
            await asyncio.sleep(0.05)
    pytest.fail("the box has outlived its limit")


@pytest.mark.requirement("WSP-4")
@pytest.mark.long
async def test_a_box_that_writes_more_than_the_workspace_holds_is_ended(engine: str, tmp_path: Path):
    config = written(tmp_path)
    config.write_text(json.dumps({**json.loads(config.read_text()), "workspace": {"quota": "1MiB"}}))
    filling = "i=0; while :; do i=$((i+1)); head -c 100000 /dev/zero > /workspace/$i; sleep 0.05; done"
    async with fail_after(120), Runtime.from_file(config) as runtime:
        outcome = await runtime.session("alice", "s-1").call("box_run", {"line": filling, "timeout": 60}, timeout=60)
    assert isinstance(outcome, ToolFailure)
    assert "workspace.quota" in outcome.message


@pytest.mark.requirement("SBX-5")
@pytest.mark.long
async def test_a_command_that_takes_longer_than_it_may_is_ended(engine: str, tmp_path: Path):
    async with boxed(tmp_path) as session:
        outcome = await session.call("box_run", {"line": "sleep 50 & sleep 50", "timeout": 1})
        assert "sleep" not in await said(session, "cat /proc/[0-9]*/comm")
    assert isinstance(outcome, ToolFailure) or given(outcome).get("timed_out")


@pytest.mark.long
@pytest.mark.requirement("SBX-5")
async def test_what_a_killed_runtime_has_left_is_gone_after_the_next_start(engine: str, tmp_path: Path):
    config = written(tmp_path)
    argv = [sys.executable, "-c", RUNTIME, str(config)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    with process.stdout:
        try:
            assert process.stdout.readline() == "ready\n"
            (left,) = json.loads((await listed(tmp_path))["out"])["boxes"]
            assert (left["engine"], left["server"], left["orphaned"]) == (engine, "box", False)
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    reaped = await bascule(tmp_path, "doctor", "--reap", "--json", env=environment())
    boxes = json.loads((await listed(tmp_path))["out"])["boxes"]
    assert boxes == [], reaped.out


async def listed(folder: Path) -> dict[str, str]:
    ran = await bascule(folder, "sandbox", "ls", "--json", env=environment())
    return {"out": ran.out, "err": ran.err}


def environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("BASCULE_SANDBOX", "DOCKER_HOST", "BASCULE_HOME") if name in os.environ}


@pytest.mark.requirement("SBX-4")
@pytest.mark.parametrize("asked", [{}, {"engine": "docker"}, {"engine": "bubblewrap"}])
async def test_who_asks_for_a_box_where_none_can_be_made_gets_an_error_and_no_process(
    asked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_SANDBOX", "none")
    async with boxed(tmp_path, sandbox=asked) as session:
        outcome = await session.call("box_run", {"argv": ["true"]})
        reports = session.servers()
    assert isinstance(outcome, ToolFailure)
    assert "box can be made here" in outcome.message
    assert "BASCULE_SANDBOX=none" in outcome.evidence
    assert reports[0].state == "failed"


@pytest.mark.requirement("SBX-4")
async def test_where_no_box_can_be_made_and_none_was_asked_for_the_server_is_loose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_SANDBOX", "none")
    args = ["sandbox", "serve", "--unboxed", str(tmp_path)]
    async with boxed(tmp_path, args=args) as session:
        given(await session.call("box_run", {"argv": ["true"]}))
        await session.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
        outcome = await session.call("box_run", {"argv": ["true"]})
    assert isinstance(outcome, ToolFailure)
    assert outcome.code.startswith("BSC-3")


@pytest.mark.long
@pytest.mark.requirement("SBX-8")
async def test_a_server_that_npm_or_uv_would_fetch_starts_sealed(
    engine: str, tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
):
    kept_on(shelf, Path(os.environ["BASCULE_HOME"]))
    monkeypatch.setenv("PATH", path_with_uv())
    (tmp_path / "bascule.yaml").write_text("mcp_servers: {time: {command: uvx, args: [mcp-server-time]}}")
    first = {**environment(), "BASCULE_SANDBOX": "bubblewrap"}
    ran = await bascule(tmp_path, "list", "--json", env=first)
    assert ran.json["servers"][0]["error"] is None, ran.out

    async with fail_after(120), Runtime.from_file(tmp_path / "bascule.yaml") as runtime:
        session = runtime.session("alice", "s-1")
        await session.add_private_dataset("payroll", DataSensitivity.SECRET)
        outcome = await session.call("time_get_current_time", {"timezone": "UTC"})
    assert isinstance(outcome, ToolResult), outcome
    assert outcome.lane == "sealed"
