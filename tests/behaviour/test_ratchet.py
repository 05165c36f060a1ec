"""How private an agent session is: a level that only rises, kept whatever happens, and what it leaves open."""

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bascule import Runtime
from bascule.core.errors import StoreError, UsageError
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity, Lane
from support import warm
from support.handed_over import handed_over
from support.runtime import Events, at_work, bad, calls_in, good, obeying, running, twinned
from support.spies import CARRIERS, WORDS, answer, spying
from support.waiting import fail_after, until

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
HERE = Path(__file__)

# It only rises


@pytest.mark.requirement("RAT-1")
async def test_an_agent_session_begins_public_and_only_ever_rises(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session:
        assert session.sensitivity is SECRET, "what is not known yet is no reason to be careless"
        await session.begin()
        levels = [session.sensitivity]
        for number, level in enumerate((INTERNAL, PUBLIC, CONFIDENTIAL, INTERNAL, SECRET, PUBLIC)):
            await session.add_private_dataset(f"set {number}", level)
            levels.append(session.sensitivity)

    assert levels == [PUBLIC, INTERNAL, INTERNAL, CONFIDENTIAL, CONFIDENTIAL, SECRET, SECRET]


@pytest.mark.requirement("RAT-1")
async def test_a_level_is_one_principals_and_nobody_elses(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        await runtime.session("alice", "s-1").add_private_dataset("payroll", SECRET)
        others = [
            runtime.session(*ids) for ids in (("alice", "s-2"), ("bob", "s-1"), ("s-1", "alice"), ("Alice", "s-1"))
        ]
        for other in others:
            good(await other.call("work_act", {"n": 1}))
            assert other.sensitivity is PUBLIC


@pytest.mark.requirement("RAT-1")
async def test_neither_asking_again_nor_new_links_nor_a_new_runtime_make_a_clean_one(tmp_path: Path):
    server = obeying(tmp_path / "log")
    async with running(server) as runtime:
        session = runtime.session("alice", "s-1")
        await session.connect()
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        await session.close()
        assert runtime.session("alice", "s-1").sensitivity is CONFIDENTIAL
        bad(await session.call("work_act"), FailureKind.DENIED)
    async with running(server) as runtime:
        session = runtime.session("alice", "s-1")
        bad(await session.call("work_act"), FailureKind.DENIED)
        assert (session.sensitivity, dict(session.datasets)) == (CONFIDENTIAL, {"payroll": CONFIDENTIAL})
    assert calls_in(tmp_path / "log") == []


@pytest.mark.requirement("RAT-1")
async def test_of_many_raises_at_once_the_highest_stands(tmp_path: Path):
    async with running() as one, running() as two:
        sessions = [runtime.session("alice", "s-1") for runtime in (one, two)]
        levels = [INTERNAL, SECRET, CONFIDENTIAL, INTERNAL] * 3
        await asyncio.gather(
            *(
                session.add_private_dataset(f"set {number}", level)
                for session in sessions
                for number, level in enumerate(levels)
            )
        )
        await until(lambda: all(session.sensitivity is SECRET for session in sessions))
    async with running() as runtime:
        session = runtime.session("alice", "s-1")
        await session.begin()
        assert session.sensitivity is SECRET
        assert dict(session.datasets) == {f"set {number}": level for number, level in enumerate(levels)}


RAISING = """
import asyncio, os, signal, sys
from bascule import Runtime
from bascule.core.sensitivity import DataSensitivity

async def main():
    async with Runtime.from_servers({}) as runtime:
        await runtime.session("alice", "s-1").add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
        if sys.argv[1] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def other_process(end: str) -> None:
    process = await asyncio.create_subprocess_exec(warm.python(), "-c", RAISING, end)
    async with fail_after(60, "the other process"):
        await process.wait()


@pytest.mark.requirement("RAT-1")
@pytest.mark.parametrize("end", ["well", "killed"])
async def test_what_another_process_raised_holds_here_from_the_moment_on_in_which_it_knew(tmp_path: Path, end: str):
    log = tmp_path / "log"
    async with fail_after(90, "both"), Runtime.from_servers({"work": obeying(log)}) as runtime:
        session = runtime.session("alice", "s-1")
        good(await session.call("work_act", {"n": 1}))
        await other_process(end)
        failure = bad(await session.call("work_act", {"text": WORDS}), FailureKind.DENIED)

        assert session.sensitivity is CONFIDENTIAL
        assert "payroll" in failure.message or "raised elsewhere" in failure.message
    assert WORDS not in log.read_text()


# Datasets, and what is kept

ODD_IDS = ["../../evil", "a/b", "..", "x" * 255, "eve@example.test", "auth0|123", "-rf", "%2e%2e%2f", "Ωmega", "a b"]


@pytest.mark.requirement("RAT-2")
@pytest.mark.long
async def test_no_id_ever_becomes_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "home"
    monkeypatch.setenv("BASCULE_HOME", str(home / "state"))
    async with running(obeying(tmp_path / "log")) as runtime:
        for odd in ODD_IDS:
            for ids in ((odd, "s-1"), ("alice", odd)):
                session = runtime.session(*ids)
                await session.add_private_dataset(odd, INTERNAL)
                good(await session.call("work_act"))
                assert (session.sensitivity, dict(session.datasets)) == (INTERNAL, {odd: INTERNAL})
        names = {path.name for path in tmp_path.rglob("*")}

    assert [path.name for path in home.iterdir()] == ["state"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "log"]
    for odd in ODD_IDS:
        assert not {name for name in names if re.search(r"evil|eve@|auth0|x{9}|%2e|Ωmega|-rf|a b", name)}, odd


@pytest.mark.requirement("RAT-2")
@pytest.mark.parametrize("odd", ["", "x" * 300, "nul\0", "line\n", "\u202eright", "\ud800"])
async def test_an_id_or_a_name_that_is_no_printable_text_is_refused(odd: str):
    async with running() as runtime:
        for ids in ((odd, "s-1"), ("alice", odd)):
            with pytest.raises(UsageError):
                runtime.session(*ids)
        session = runtime.session("alice", "s-1")
        with pytest.raises(UsageError):
            await session.add_private_dataset(odd, SECRET)
        await session.begin()
        assert session.sensitivity is PUBLIC


@pytest.mark.requirement("RAT-2")
async def test_a_dataset_that_is_added_again_is_as_private_as_it_ever_was():
    async with running() as runtime:
        session = runtime.session("alice", "s-1")
        for level, kept in ((INTERNAL, INTERNAL), (CONFIDENTIAL, CONFIDENTIAL), (PUBLIC, CONFIDENTIAL)):
            await session.add_private_dataset("payroll", level)
            assert (session.sensitivity, dict(session.datasets)) == (kept, {"payroll": kept})
        assert runtime.session("alice", "s-2").datasets == {}


@pytest.mark.requirement("RAT-2")
async def test_what_two_runtimes_write_in_turn_is_all_kept():
    async with running() as one, running() as two:
        mine, theirs = one.session("alice", "s-1"), two.session("alice", "s-1")
        await mine.begin()
        await theirs.begin()
        await mine.add_private_dataset("payroll", CONFIDENTIAL)
        await theirs.add_private_dataset("patients", INTERNAL)
        await mine.add_private_dataset("patients", PUBLIC)
        await theirs.add_private_dataset("payroll", INTERNAL)

        for session in (mine, theirs):
            assert session.sensitivity is CONFIDENTIAL
        assert dict(theirs.datasets) == {"payroll": CONFIDENTIAL, "patients": INTERNAL}


def home(name: str) -> Path:
    return Path(os.environ["BASCULE_HOME"]) / name


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(100, len(data), 7):
        data[at] ^= 0x5A
    path.write_bytes(data)


async def level_after(happened: Callable[[Path], None], name: str) -> DataSensitivity:
    """What an agent session is that was CONFIDENTIAL, after this happened to a file between two runs."""
    async with running() as runtime:
        await runtime.session("alice", "s-1").add_private_dataset("payroll", CONFIDENTIAL)
    happened(home(name))
    async with running() as runtime:
        session = runtime.session("alice", "s-1")
        await session.begin()
        return session.sensitivity


@pytest.mark.requirement("RAT-2")
async def test_of_two_witnesses_one_is_enough_to_remember():
    assert await level_after(Path.unlink, "bascule.db") is CONFIDENTIAL


@pytest.mark.requirement("RAT-2")
@pytest.mark.parametrize("happened", [damage, Path.unlink])
async def test_where_the_witnesses_contradict_each_other_it_is_secret(happened: Callable[[Path], None]):
    assert await level_after(happened, "bascule.db-raises") is SECRET


@pytest.mark.requirement("RAT-2")
async def test_where_nothing_can_be_read_nothing_is_served():
    with pytest.raises(StoreError, match="cannot be used"):
        await level_after(damage, "bascule.db")


# Lanes


@pytest.mark.requirement("RAT-3")
async def test_a_level_leaves_a_lane(tmp_path: Path):
    server = twinned(obeying(tmp_path / "open"), obeying(tmp_path / "twin"))
    seen: list[tuple[DataSensitivity, Lane, Lane]] = []
    async with running(server) as runtime:
        session = runtime.session("alice", "s-1")
        for level in DataSensitivity:
            await session.add_private_dataset(level.name, level)
            outcome = good(await session.call("work_act", {"level": level.name}))
            seen.append((session.sensitivity, session.lane, outcome.lane))

    # A declared twin has no way out at all, so it serves the proxied lane too.
    assert seen == [
        (PUBLIC, Lane.OPEN, Lane.OPEN),
        (INTERNAL, Lane.OPEN, Lane.OPEN),
        (CONFIDENTIAL, Lane.PROXIED, Lane.SEALED),
        (SECRET, Lane.SEALED, Lane.SEALED),
    ]
    for file, levels in (("open", ["PUBLIC", "INTERNAL"]), ("twin", ["CONFIDENTIAL", "SECRET"])):
        assert [params["arguments"]["level"] for params in calls_in(tmp_path / file)] == levels


# The fence


@pytest.mark.requirement("RAT-4")
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_once_a_raise_has_returned_no_runtime_writes_to_a_wider_lane(
    tmp_path: Path, carrier: str, events: Events
):
    """Another runtime has a call under way, and more of them ready."""
    async with spying(carrier, tmp_path, {"tools/call": [answer(), {}]}) as loose:
        async with running() as raising, running(loose.config, events=events) as other:
            theirs = other.session("alice", "s-1")
            good(await theirs.call("loose_act", {"text": "before"}))
            under_way = asyncio.create_task(theirs.call("loose_act"))
            await loose.until_asked("tools/call", 2)
            with handed_over() as counted:
                await raising.session("alice", "s-1").add_private_dataset("payroll", CONFIDENTIAL)
                counted.pieces.clear()
                calls = [asyncio.create_task(theirs.call("loose_act", {"text": WORDS})) for _ in range(20)]
                outcomes = await asyncio.gather(under_way, *calls)
                assert counted.pieces == []
        for outcome in outcomes[1:]:
            bad(outcome, FailureKind.DENIED)
        cut = bad(outcomes[0], FailureKind.CONNECTION_ERROR)
        assert cut.code == "BSC-408"
        assert WORDS.encode() not in loose.heard


# What is not promised


@pytest.mark.requirement("RAT-10")
@pytest.mark.parametrize(
    "words",
    [
        r"Covert timing\b",
        r"person reading the screen\b",
        r"Storage that a twin shares with its open instance\b",
        r"What the agent's own model provider sees\b",
    ],
)
def test_the_security_model_says_what_is_not_promised(words: str):
    text = (HERE.parents[2] / "docs/security-model.md").read_text(encoding="utf-8")
    promised, _, rest = text.partition("## What is not promised")

    assert re.search(rf"^- \*\*.*{words}", rest, re.MULTILINE)
    assert not re.search(words, promised)
