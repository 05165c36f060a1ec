"""The box itself as tools: agents run commands and use files through the same path, and under the same rules, as any."""

import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, Outcome, Runtime, ToolFailure, ToolResult
from support.bwrap import skip_without_bubblewrap
from support.command import BASCULE
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("SBX-6")


@asynccontextmanager
async def working(folder: Path, **more: Any) -> AsyncGenerator[AgentSession]:
    """In a folder of its own, without a box: what is tried here is the server."""
    (folder / "files").mkdir(exist_ok=True)
    unboxed = {"args": ["sandbox", "serve", "--unboxed", str(folder / "files")], "sandbox": "none"}
    async with configured(folder, **{**unboxed, **more}) as session:
        yield session


@asynccontextmanager
async def boxed(folder: Path, **more: Any) -> AsyncGenerator[AgentSession]:
    """As it is used: in the box of the agent session."""
    skip_without_bubblewrap()
    async with configured(folder, args=["sandbox", "serve"], sandbox={"engine": "bubblewrap"}, **more) as session:
        yield session


@asynccontextmanager
async def configured(folder: Path, **more: Any) -> AsyncGenerator[AgentSession]:
    entry = {
        "command": str(BASCULE),
        "permissions": {"read": "read", "list": "read", "write": "write", "run": ["write", "connect"]},
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


@pytest.mark.long
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


ROUTES = """
import socket
found = [line.split()[0] for line in open("/proc/net/route").readlines()[1:]]
for address in ("192.0.2.1", "169.254.169.254", "10.0.0.1"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))
        except OSError:
            continue
        found.append(address)
print(found)
"""


@pytest.mark.long
async def test_in_its_box_an_agent_works_on_its_own_files_and_sees_nobody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_SANDBOX", "bubblewrap")
    canary = tmp_path / "canary"
    canary.write_text("sings")
    async with boxed(tmp_path) as session:
        session.workspace.write_text("numbers", "1\n2\n3\n")
        ran = given(await session.call("box_run", {"line": "pwd; id -u; cat numbers; echo 4 >> numbers"}))
        assert ran["stdout"].split() == ["/workspace", "65532", "1", "2", "3"]
        given(await session.call("box_write", {"path": "made/inside", "text": "x"}))
        assert session.workspace.read_text("numbers").endswith("4\n")
        assert session.workspace.read_text("made/inside") == "x"

        home = os.environ["BASCULE_HOME"]
        ran = given(await session.call("box_run", {"line": f"cat {canary}; ls {home}; cat /etc/shadow; touch /usr/x"}))
        assert (ran["stdout"], ran["exit_code"] != 0) == ("", True)
        assert len(ran["stderr"].splitlines()) == 4
        # A process that runs for ever ends with its call, and one that leaves its group with its box.
        ran = given(await session.call("box_run", {"line": "setsid sleep 300 & sleep 300", "timeout": 0.5}))
        assert ran["timed_out"]


@pytest.mark.parametrize(("level", "lane"), [("confidential", "proxied"), ("secret", "sealed")])
@pytest.mark.long
async def test_once_private_the_same_tools_go_on_without_a_route(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, lane: str
):
    monkeypatch.setenv("BASCULE_SANDBOX", "bubblewrap")
    async with boxed(tmp_path, raises={"read": level}) as session:
        given(await session.call("box_write", {"path": "salaries", "text": "5200"}))
        given(await session.call("box_write", {"path": "routes.py", "text": ROUTES}))
        routes = {"argv": [sys.executable, "routes.py"]}
        before = await session.call("box_run", routes)
        assert (str(before.lane), given(before)["stdout"] != "[]\n") == ("open", True)

        read = await session.call("box_read", {"path": "salaries"})
        assert (given(read)["text"], str(read.lane)) == ("5200", lane)

        after = await session.call("box_run", routes)
        assert (str(after.lane), given(after)["stdout"]) == (lane, "[]\n")
        assert session.sensitivity.name == level.upper()


@pytest.mark.long
async def test_one_that_was_private_before_the_runtime_started_works_in_its_tighter_box_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_SANDBOX", "bubblewrap")
    async with boxed(tmp_path, raises={"read": "secret"}) as session:
        given(await session.call("box_write", {"path": "salaries", "text": "5200"}))
        given(await session.call("box_read", {"path": "salaries"}))
    async with boxed(tmp_path, raises={"read": "secret"}) as session:
        again = await session.call("box_run", {"line": "cat salaries"})
        assert (str(again.lane), given(again)["stdout"]) == ("sealed", "5200")
