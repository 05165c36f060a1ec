"""What an operator does by hand is followed by a runtime in another process, and a person is asked at the terminal."""

import asyncio
import getpass
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, Runtime
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity, Lane
from support.children import children
from support.command import bascule, configured, entry
from support.runtime import Arrived, bad, calls_in, good
from support.servers import argv, pids
from support.terminal import at_a_terminal
from support.waiting import fail_after, until

ALICE = ("--user", "alice", "--session", "s-1")
OPERATOR = f"operator {getpass.getuser()}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server with a twin and one without, for the command and for a runtime in this process."""
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    twin = argv("obeying", tmp_path / "twin")
    configured(
        tmp_path,
        work=entry("obeying", tmp_path / "open", command_isolated=twin),
        loose=entry("obeying", tmp_path / "loose"),
    )
    return tmp_path


@asynccontextmanager
async def elsewhere(folder: Path) -> AsyncGenerator[AgentSession]:
    """Alice's agent session in another process than the command's: in this one."""
    made = Runtime.from_file(folder / "bascule.yaml")
    # Several commands are run meanwhile, and on a busy machine each takes seconds to start.
    async with fail_after(90, "the life of a runtime"), made as runtime:
        yield runtime.session("alice", "s-1")


async def sessions(folder: Path, deed: str, *words: str) -> dict[str, Any]:
    """The operator's command, in a process of its own."""
    ran = await bascule(folder, "sessions", deed, *ALICE, *words, "--json")
    assert ran.code == 0, ran.err
    return ran.json


async def receipts(folder: Path) -> list[dict[str, Any]]:
    return (await sessions(folder, "show"))["receipts"]


@pytest.mark.requirement("RAT-9")
async def test_a_runtime_elsewhere_follows_a_raise_and_goes_on_from_the_twin(folder: Path):
    async with elsewhere(folder) as session:
        assert good(await session.call("work_act", {"n": 1})).lane is Lane.OPEN
        assert good(await session.call("loose_act", {"n": 1})).lane is Lane.OPEN
        done = await sessions(folder, "raise", "--to", "secret", "--dataset", "patients", "--reason", "told by phone")

        # Nothing was waited for here: what the command has done holds when it ends.
        assert (session.sensitivity, session.lane) == (DataSensitivity.SECRET, Lane.SEALED)
        assert done["fence"] == "1 other runtimes acknowledged"
        assert good(await session.call("work_act", {"n": 2})).lane is Lane.SEALED
        refused = bad(await session.call("loose_act", {"n": 2}), FailureKind.DENIED)
        assert f"{OPERATOR} 'patients': told by phone" in refused.message
        assert [call["arguments"] for call in calls_in(folder / "open")] == [{"n": 1}]
        assert [call["arguments"] for call in calls_in(folder / "twin")] == [{"n": 2}]
        assert [call["arguments"] for call in calls_in(folder / "loose")] == [{"n": 1}]
        assert session.datasets == {"patients": DataSensitivity.SECRET}

        await until(lambda: bool(session.receipts[-1].closed))
        told = await receipts(folder)
    assert told[-1]["cause"]["by"] == OPERATOR
    assert told[-1]["closed"] == ["loose (open)", "work (open)"]
    assert told[-1]["twins"] == {"work": "declared", "loose": "refused"}
    assert told[-1]["fence"] == "1 other runtimes acknowledged"


@pytest.mark.requirement("RAT-9")
async def test_a_runtime_elsewhere_follows_a_declassification_back_to_the_open_lane(folder: Path):
    async with elsewhere(folder) as session:
        await session.add_private_dataset("patients", DataSensitivity.SECRET)
        assert good(await session.call("work_act", {"n": 1})).lane is Lane.SEALED
        await sessions(folder, "declassify", "--to", "public", "--reason", "test data", "--yes")

        assert (session.sensitivity, session.lane) == (DataSensitivity.PUBLIC, Lane.OPEN)
        assert good(await session.call("work_act", {"n": 2})).lane is Lane.OPEN
        assert good(await session.call("loose_act", {"n": 2})).lane is Lane.OPEN
    told = await receipts(folder)
    assert [(each["change"], each["from"], each["to"]) for each in told] == [
        ("raise", "public", "secret"),
        ("declassify", "secret", "public"),
    ]
    assert told[1]["cause"] == {"by": OPERATOR, "server": "", "tool": "", "dataset": "", "reason": "test data"}


@pytest.mark.requirement("RAT-9")
async def test_a_runtime_elsewhere_does_nothing_more_for_an_agent_session_that_was_ended(folder: Path):
    before = children()
    async with elsewhere(folder) as session:
        good(await session.call("loose_act", {"n": 1}))
        arrived = Arrived()
        call = asyncio.create_task(session.call("work_act", {"progress": [1], "silent": True}, on_progress=arrived))
        await arrived.wait()
        await sessions(folder, "end", "--reason", "gone", "--yes")

        assert session.ended
        # Its call in flight is cut off, its links are closed with their processes, and nothing is sent any more.
        assert bad(await call, FailureKind.CONNECTION_ERROR).code == "BSC-408"
        for _ in range(2):
            refused = bad(await session.call("loose_act", {"n": 2}), FailureKind.DENIED)
            assert refused.message == "an operator has ended this agent session"
        await until(lambda: children() == before)
        assert [call["arguments"] for call in calls_in(folder / "loose")] == [{"n": 1}]
    ran = await bascule(folder, "call", "work_act", *ALICE)
    assert (ran.code, ran.out) == (4, "")
    assert "an operator has ended this agent session" in ran.err
    assert "--session ID" in ran.err
    assert not (folder / "twin").exists()
    assert len(pids(folder / "open")) == 1


@pytest.mark.requirement("RAT-9", "UX-2")
@pytest.mark.long
async def test_after_a_private_call_a_refusal_says_how_to_go_on(folder: Path):
    """Under the default agent session, as whoever tries the command has it."""
    private = entry("obeying", folder / "private", raises={"act": "confidential"})
    twin = argv("obeying", folder / "twin")
    configured(folder, work={**private, "command_isolated": twin}, loose=entry("obeying", folder / "loose"))
    first = await bascule(folder, "call", "work_act", "--json")
    me = getpass.getuser()

    assert (first.code, first.json["lane"]) == (0, "sealed")
    assert first.json.keys() == {"ok", "text", "structured", "server", "tool", "lane", "ms", "steps"}
    assert f"{me}/cli is now CONFIDENTIAL, was PUBLIC (raises rule of work/act)" in first.err
    assert "loose refused, work declared" in first.err

    refused = await bascule(folder, "call", "loose_act", "--json")
    assert (refused.code, refused.json["kind"]) == (4, "denied")
    assert refused.json.keys() == {"ok", "kind", "code", "message", "tool_code", "retriable", "fix"}
    assert f"`bascule sessions show --user {me} --session cli`" in refused.json["fix"]
    assert "--session ID goes on in another agent session" in refused.json["fix"]
    listed = await bascule(folder, "list")
    assert "--session ID goes on in another agent session" in listed.err
    assert (await bascule(folder, "call", "loose_act", "--session", "other")).code == 0
    again = await bascule(folder, "call", "work_act")
    assert "is now" not in again.err


@pytest.fixture
def asking(folder: Path) -> Path:
    configured(folder, work=entry("obeying", folder / "open", ask=["act"]))
    return folder


@pytest.mark.requirement("POL-5")
@pytest.mark.parametrize(("typed", "code", "sent"), [("y\n", 0, 1), ("n\n", 4, 0), ("\n", 4, 0), ("\x04", 4, 0)])
async def test_at_a_terminal_a_person_is_shown_the_call_and_asked(asking: Path, typed: str, code: int, sent: int):
    words = ("call", "work_act", "path=/data/a\x1b[2J\u202e", *ALICE)
    async with at_a_terminal(asking, *words) as command:
        await command.until("Let work/act go on? [y/N] ")
        assert "server:     work" in command.shown
        assert "tool:       act" in command.shown
        assert '{"path":"/data/a\\u001b[2J\\u202e"}' in command.shown
        assert not {"\x1b", "\u202e"} & set(command.shown)
        assert calls_in(asking / "open") == []
        command.type(typed)
        ended, out = await command.end()

        assert (ended, bool(out)) == (code, bool(sent))
        assert ("they did not agree" in command.shown) == (not sent)
    assert len(calls_in(asking / "open")) == sent


@pytest.mark.requirement("POL-5")
async def test_without_a_terminal_nobody_is_asked_and_the_call_is_refused(asking: Path):
    ran = await bascule(asking, "call", "work_act", "--json", *ALICE)

    assert (ran.code, ran.json["kind"], ran.json["code"]) == (4, "denied", "BSC-300")
    assert "nobody can be asked" in ran.json["message"]
    assert "run `bascule call` at a terminal" in ran.json["fix"]
    assert calls_in(asking / "open") == []


@pytest.mark.requirement("POL-5")
async def test_a_person_who_interrupts_has_not_agreed(asking: Path):
    async with at_a_terminal(asking, "call", "work_act", *ALICE) as command:
        await command.until("[y/N] ")
        os.kill(command.process.pid, signal.SIGINT)
        code, out = await command.end()

        assert (code, out) == (130, "")
        await command.until("aborted")
        assert "Traceback" not in command.shown
    assert calls_in(asking / "open") == []


@pytest.mark.requirement("UX-2")
@pytest.mark.long
async def test_a_doctor_counts_the_runtimes_that_follow_levels(folder: Path):
    async def told() -> dict[str, str]:
        ran = await bascule(folder, "doctor", "--json", "--user", "ada", "--session", "s-1")
        assert ran.code == 0, ran.out
        return {check["subject"]: check["message"] for check in json.loads(ran.out)["checks"]}

    assert (await told())["runtimes"] == "none is registered"
    async with elsewhere(folder):
        checks = await told()
    assert checks["runtimes"].startswith("1 registered")
    assert checks["footing work"].startswith("confined")
    assert checks["footing loose"].startswith("loose")
