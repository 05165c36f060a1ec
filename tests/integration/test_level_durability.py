"""The level of an agent session outlives whatever happens to its runtime; one that cannot be kept lets nothing out."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from bascule.config import OAuthSettings, RuntimeConfig, ServerConfig, StreamableHttpTransport
from bascule.core.errors import OutcomeWithheld
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from bascule.store import deadline
from support.login_server import Browser, guarded_server
from support.racing import end_of
from support.runtime import Arrived, at_work, calls_in, good, obeying, running, text
from support.waiting import fail_after

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
LABELLED = {**text("the salaries"), "_meta": {"dev.bascule/labels": ["secret"]}}
BACK = "http://127.0.0.1:7/callback"


async def test_whoever_comes_back_finds_the_level_it_had(tmp_path: Path):
    """Another runtime, and the same one opened again."""
    server = obeying(tmp_path / "log")
    async with at_work(server) as session:
        good(await session.call("work_act", {}))
        await session.add_private_dataset("salaries", CONFIDENTIAL)
    runtime = Runtime(RuntimeConfig({"work": server}))
    for _ in range(2):
        async with fail_after(60), runtime:
            again = runtime.session("alice", "s-1")
            assert again.sensitivity is SECRET, "what is not known yet counts as the worst"
            assert end_of(await again.call("work_act", {})) == "BSC-300"
            assert (again.sensitivity, again.lane) == (CONFIDENTIAL, Lane.PROXIED)
            assert again.datasets == {"salaries": CONFIDENTIAL}
            assert [receipt.cause.dataset for receipt in again.receipts] == ["salaries"]
            # Another one of the same person is another one.
            assert good(await runtime.session("alice", "s-2").call("work_act", {})).lane is Lane.OPEN

    assert len(calls_in(tmp_path / "log")) == 3


async def test_connecting_anew_makes_no_clean_agent_session(tmp_path: Path):
    log = tmp_path / "log"
    async with running(obeying(log)) as runtime:
        session = runtime.session("alice", "s-1")
        await session.add_private_dataset("salaries", SECRET)
        for again in (session, runtime.session("alice", "s-1")):
            await again.close()
            await again.connect()
            await again.settle("work", again=True)
            assert again.sensitivity is SECRET
            assert end_of(await again.call("work_act", {})) == "BSC-300"
        await session.add_private_dataset("salaries", PUBLIC)
        assert (session.sensitivity, session.datasets) == (SECRET, {"salaries": SECRET})

    assert calls_in(log) == []


@pytest.mark.long
async def test_a_renewed_login_makes_no_clean_agent_session():
    async with fail_after(60), guarded_server(life=1) as guarded:
        server = ServerConfig("notes", StreamableHttpTransport(guarded.url), oauth=OAuthSettings())
        async with Runtime.from_servers({"notes": server}) as runtime:
            session = runtime.session("alice", "s-1")
            await session.login("notes", Browser(), BACK)
            await session.add_private_dataset("plans", INTERNAL)
            await asyncio.sleep(1.1)  # the shortest life that a token of this login server can have
            good(await session.call("notes_write", {"text": "plans"}))
            assert set(await guarded.login.answered(grant="refresh_token")) == {200}
            assert session.sensitivity is INTERNAL

            await session.add_private_dataset("salaries", SECRET)
            await session.login("notes", Browser(), BACK)
            assert end_of(await session.call("notes_write", {"text": "salaries"})) == "BSC-300"
            assert session.sensitivity is SECRET
        assert guarded.notes == ["plans"]


def database() -> Path:
    return Path(os.environ["BASCULE_HOME"], "bascule.db")


@contextmanager
def locked() -> Generator[None]:
    """Another process writes, and does not end."""
    other = sqlite3.connect(database(), isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
    finally:
        other.close()


@contextmanager
def no_journal() -> Generator[None]:
    """A folder stands where lines were added."""
    journal = database().with_name("bascule.db-raises")
    away = journal.with_name("away")
    journal.rename(away)
    journal.mkdir()
    try:
        yield
    finally:
        journal.rmdir()
        away.rename(journal)


Trouble = Callable[[], AbstractContextManager[None]]
TROUBLES: dict[str, Trouble] = {"locked": locked, "no journal": no_journal}


@pytest.fixture(params=TROUBLES.values(), ids=list(TROUBLES))
def trouble(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Trouble:
    monkeypatch.setattr(deadline, "LONGEST", 0.3)
    return request.param


async def closed_for_good(session: AgentSession, trouble: Trouble) -> None:
    """Whether the trouble lasts or is over, the agent session is SECRET, and nothing is sent."""
    with trouble():
        assert session.sensitivity is SECRET
        assert end_of(await session.call("work_act", {})) == "BSC-300"
    assert session.sensitivity is SECRET
    assert end_of(await session.call("work_act", {})) == "BSC-300"
    # A later raise that is kept does not take it back.
    await session.add_private_dataset("plans", INTERNAL)
    assert session.sensitivity is SECRET


async def test_an_outcome_whose_level_cannot_be_kept_is_withheld(tmp_path: Path, trouble: Trouble):
    log, progress = tmp_path / "log", Arrived()
    async with at_work(obeying(log, trust=frozenset({"labels"}))) as session:
        await session.connect()
        with trouble():
            arguments = {"progress": [1], "result": LABELLED}
            outcome = await session.call("work_act", arguments, on_progress=progress)

    assert end_of(outcome) == "BSC-303"
    assert "the salaries" not in str(outcome)
    assert progress.progress == []
    assert len(calls_in(log)) == 1


async def test_a_call_whose_rule_cannot_be_kept_is_not_even_sent(tmp_path: Path, trouble: Trouble):
    log, twin = tmp_path / "log", tmp_path / "twin"
    isolated = obeying(twin).transport
    async with at_work(obeying(log, raises={"act": "secret"}, isolated=isolated)) as session:
        await session.connect()
        with trouble():
            assert end_of(await session.call("work_act", {})) == "BSC-303"
        # From then on it is SECRET, which is as much as the rule wants.
        assert good(await session.call("work_act", {})).lane is Lane.SEALED

    assert calls_in(log) == []
    assert len(calls_in(twin)) == 1


async def test_an_agent_session_whose_level_cannot_be_kept_is_secret_from_then_on(tmp_path: Path, trouble: Trouble):
    log = tmp_path / "log"
    async with at_work(obeying(log, trust=frozenset({"labels"}))) as session:
        good(await session.call("work_act", {}))
        with trouble():
            assert end_of(await session.call("work_act", {"result": LABELLED})) == "BSC-303"
        await closed_for_good(session, trouble)

    assert len(calls_in(log)) == 2


async def test_a_dataset_that_cannot_be_kept_is_refused_and_makes_the_agent_session_secret(
    tmp_path: Path, trouble: Trouble
):
    log = tmp_path / "log"
    async with at_work(obeying(log)) as session:
        good(await session.call("work_act", {}))
        with trouble(), pytest.raises(OutcomeWithheld) as caught:
            await session.add_private_dataset("salaries", CONFIDENTIAL)
        await closed_for_good(session, trouble)

    assert caught.value.code == "BSC-303"
    assert len(calls_in(log)) == 1
