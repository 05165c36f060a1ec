"""The box itself as tools: agents run commands and use files through the same path, and under the same rules, as any."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, Outcome, Runtime, ToolFailure, ToolResult
from support.command import BASCULE
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("SBX-6")


@asynccontextmanager
async def working(folder: Path, **more: Any) -> AsyncGenerator[AgentSession]:
    """In a folder of its own, without a box: what is tried here is the server."""
    (folder / "files").mkdir(exist_ok=True)
    entry = {
        "command": str(BASCULE),
        "args": ["sandbox", "serve", "--unboxed", str(folder / "files")],
        "trust": ["permissions"],
        "permissions": {"read": "read", "list": "read", "write": "write", "run": ["write", "connect"]},
        "sandbox": "none",
        **more,
    }
    config = folder / "bascule.yaml"
    config.write_text(json.dumps({"mcp_servers": {"box": entry}}))
    async with fail_after(90), Runtime.from_file(config) as runtime:
        yield runtime.session("alice", "s-1")


def given(outcome: Outcome) -> Any:
    assert isinstance(outcome, ToolResult), outcome
    return outcome.structured


@pytest.mark.parametrize("era", ["old", "new"])
async def test_an_agent_works_with_commands_and_files(tmp_path: Path, era: str):
    async with working(tmp_path, era=era) as session:
        assert {spec.name for spec in await session.tools()} == {"box_run", "box_read", "box_write", "box_list"}
        program = "import sys; print(sum(map(int, open('numbers'))))"
        given(await session.call("box_write", {"path": "/workspace/sum.py", "text": program}))
        given(await session.call("box_run", {"line": "seq 1 100 > numbers"}))
        ran = given(await session.call("box_run", {"argv": [sys.executable, "sum.py"]}))
        assert (ran["exit_code"], ran["stdout"], ran["stderr"]) == (0, "5050\n", "")
        assert given(await session.call("box_read", {"path": "numbers", "limit": 4})) == {
            "text": "1\n2\n",
            "size": 292,
            "next_offset": 4,
        }
        names = [entry["name"] for entry in given(await session.call("box_list"))["entries"]]
        assert names == ["numbers", "sum.py"]


async def test_a_failing_command_is_a_result_and_a_wrong_call_a_failure(tmp_path: Path):
    async with working(tmp_path) as session:
        ran = given(await session.call("box_run", {"line": "echo why >&2; exit 3"}))
        assert (ran["exit_code"], ran["stderr"]) == (3, "why\n")
        for tool, arguments, words in (
            ("box_read", {"path": "/etc/passwd"}, "outside of /workspace"),
            ("box_run", {"argv": ["no-such-program"]}, "cannot be run"),
            ("box_run", {"argv": "ls"}, "argv"),
        ):
            failure = await session.call(tool, arguments)
            assert isinstance(failure, ToolFailure)
            assert words in failure.message


async def test_a_command_has_a_limit(tmp_path: Path):
    async with working(tmp_path) as session:
        ran = given(await session.call("box_run", {"line": "sleep 300 & sleep 300", "timeout": 0.3}))
        assert (ran["timed_out"], ran["exit_code"]) == (True, None)


async def test_a_call_that_is_given_up_ends_its_command(tmp_path: Path):
    async with working(tmp_path) as session:
        waited = await session.call("box_run", {"line": "echo $$ > pid; exec sleep 300", "timeout": 600}, timeout=2)
        assert isinstance(waited, ToolFailure)
        pid = given(await session.call("box_read", {"path": "pid"}))["text"].strip()
        told = given(
            await session.call("box_run", {"line": f"while kill -0 {pid}; do sleep 0.05; done", "timeout": 20})
        )
        assert told["timed_out"] is False


async def test_the_rules_hold_for_it_as_for_any_server(tmp_path: Path):
    """Vouched for, it goes on with files once the agent session is private; a command could reach out, so none runs."""
    async with working(tmp_path, raises={"read": "confidential"}, vouched="confidential") as session:
        given(await session.call("box_write", {"path": "a", "text": "x"}))
        assert given(await session.call("box_read", {"path": "a"}))["text"] == "x"
        assert session.sensitivity.name == "CONFIDENTIAL"
        given(await session.call("box_write", {"path": "b", "text": "y"}))

        refused = await session.call("box_run", {"line": "touch ran"})
        assert isinstance(refused, ToolFailure)
        assert refused.kind == "denied"
        assert not (tmp_path / "files/ran").exists()
