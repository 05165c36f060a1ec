"""A person points Bascule at the config they already have: good servers, broken ones, old ones and new ones."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.command import bascule, started
from support.peers import EVERYTHING, TIME, clock, vintage_sqlite
from support.without_npx import program

HANGS = (sys.executable, "-c", "import time; time.sleep(600)")
EXITS = (sys.executable, "-c", "import sys; print('cannot open the database', file=sys.stderr); sys.exit(1)")


def entry(command: str, *args: str, **ours: Any) -> dict[str, Any]:
    return {"command": command, "args": list(args), **({"x-bascule": ours} if ours else {})}


def servers(everything: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Good ones and broken ones, of which one is waited for so many seconds."""
    return {
        "everything": everything,
        "time": entry(str(TIME)),
        "missing": entry("no-such-command-anywhere"),
        "exits": entry(*EXITS),
        "hangs": entry(*HANGS, timeouts={"connect": seconds}),
    }


def write(folder: Path, servers: dict[str, Any]) -> None:
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    write(tmp_path, servers(entry("npx", *EVERYTHING), 20))
    return tmp_path


@pytest.fixture
def found(tmp_path: Path) -> Path:
    """The same, where npx has done its part."""
    write(tmp_path, servers(entry(*program(*EVERYTHING)), 20))
    return tmp_path


async def test_the_good_are_listed_and_each_of_the_others_says_why_not(tmp_path: Path):
    write(tmp_path, servers(entry("npx", *EVERYTHING), 5))
    ran = await bascule(tmp_path, "list", "--json", timeout=90)
    assert ran.code == 0, ran.err
    told = {server["name"]: server for server in ran.json["servers"]}
    names = {tool["name"] for tool in ran.json["tools"]}
    assert {"everything_echo", "time_get_current_time"} <= names
    assert told["everything"]["state"] == told["time"]["state"] == "ready"
    assert told["time"]["era"] == "2026-07-28"
    assert told["missing"]["error"]["message"] == "command not found: no-such-command-anywhere"
    assert "exited with code 1" in told["exits"]["error"]["message"]
    assert "cannot open the database" in told["exits"]["error"]["evidence"]
    assert "did not answer within 5 s" in told["hangs"]["error"]["message"]
    assert all(told[name]["error"]["fix"] for name in ("missing", "exits", "hangs"))


async def test_the_good_are_shown_before_the_bad_have_timed_out(mixed: Path):
    async with started(mixed, "list") as process, asyncio.timeout(60):
        assert process.stdout is not None
        shown = b""
        while b"time_get_current_time" not in shown or b"everything_echo" not in shown:
            line = await process.stdout.readline()
            assert line, "the listing ended without the good servers' tools"
            shown += line
        assert b"did not answer" not in shown
        assert process.returncode is None


async def test_a_required_server_that_fails_makes_the_exit_code_3(tmp_path: Path):
    write(tmp_path, {"time": entry(*clock()), "exits": entry(*EXITS, required=True)})
    ran = await bascule(tmp_path, "list")
    assert ran.code == 3
    assert "time_get_current_time" in ran.out
    assert "cannot open the database" in ran.out


async def test_a_call_prints_the_text(mixed: Path):
    ran = await bascule(mixed, "call", "everything_echo", "message=hi")
    assert (ran.code, ran.out) == (0, "Echo: hi\n"), ran.err


async def test_an_unknown_tool_suggests_the_nearest(found: Path):
    ran = await bascule(found, "call", "everything_ecoh", "message=hi")
    assert ran.code == 2
    assert "everything_echo" in ran.err


async def test_a_missing_argument_is_named_with_the_signature(found: Path):
    ran = await bascule(found, "call", "everything_echo")
    assert ran.code == 2
    assert "message" in ran.err
    assert "echo(message: string)" in ran.err


async def test_a_server_of_2024_that_dies_of_the_probe_works_without_a_setting(tmp_path: Path):
    write(tmp_path, {"old": entry(str(vintage_sqlite()), "--db-path", str(tmp_path / "data.db"))})
    listed = await bascule(tmp_path, "list", "--json")
    assert listed.json["servers"][0]["state"] == "ready", listed.json["servers"]
    assert listed.json["servers"][0]["era"] <= "2025-03-26"
    called = await bascule(tmp_path, "call", "old_list_tables")
    assert called.code == 0, called.err


async def test_a_server_of_the_new_era_works_without_a_setting(tmp_path: Path):
    write(tmp_path, {"time": entry(*clock())})
    called = await bascule(tmp_path, "call", "time_get_current_time", "timezone=UTC", "--json")
    assert called.code == 0, called.err
    assert called.json["ok"] is True
    assert called.json["server"] == "time"
