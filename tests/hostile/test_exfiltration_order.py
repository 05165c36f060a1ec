"""What a tool says before it says how private it is: nobody hears it before that is kept, and fenced."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import StoreError
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.session import AgentSession
from bascule.store.levels.interface import Laggards
from bascule.store.levels.position import Position
from bascule.store.sqlite.levels import SqliteLevels
from support.runtime import Events, at_work, bad, good, running, settled
from support.spies import CARRIERS, WORDS, answer, progress, spying
from support.waiting import fail_after

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
TRUSTED: dict[str, Any] = {"trust": ("labels",)}
TALKATIVE = [progress(WORDS, number) for number in (1, 2)]


@pytest.fixture(params=CARRIERS)
def carrier(request: pytest.FixtureRequest) -> str:
    return request.param


class Hearing:
    """Someone who is told of progress, and notes how private the agent session was when they were."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self.told: list[tuple[str | None, DataSensitivity]] = []

    def __call__(self, _progress: float, _total: float | None, message: str | None) -> None:
        self.told.append((message, self._session.sensitivity))


ENDS = {
    "a result": answer("confidential"),
    "a tool's error": answer("confidential", isError=True),
    "an error of the protocol": {
        "error": {"code": -1, "message": WORDS, "data": {"_meta": {"dev.bascule/labels": ["confidential"]}}}
    },
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_progress_and_error_texts_are_told_after_the_raise(
    carrier: str, end: dict[str, Any], tmp_path: Path, events: Events
):
    scenario = {"tools/call": [{"say": TALKATIVE, **end}]}
    async with (
        spying(carrier, tmp_path, scenario, **TRUSTED) as loose,
        at_work(loose.config, events=events) as session,
    ):
        hearing = Hearing(session)
        outcome = await session.call("loose_act", on_progress=hearing)

        assert session.sensitivity is CONFIDENTIAL
        assert {*hearing.told} == {(WORDS, CONFIDENTIAL)}
        assert WORDS in (outcome.message if isinstance(outcome, ToolFailure) else outcome.text)
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("LevelChanged") < kinds.index("ToolInvoked")


async def test_without_a_label_progress_is_told_late(carrier: str, tmp_path: Path):
    scenario = {"tools/call": [{"say": TALKATIVE, **answer()}]}
    async with spying(carrier, tmp_path, scenario, **TRUSTED) as loose, at_work(loose.config) as session:
        hearing = Hearing(session)
        good(await session.call("loose_act", on_progress=hearing))

    assert {*hearing.told} == {(WORDS, PUBLIC)}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_while_a_raise_is_being_fenced_the_caller_knows_nothing(
    carrier: str, end: dict[str, Any], tmp_path: Path, events: Events, monkeypatch: pytest.MonkeyPatch
):
    """Another runtime has not acknowledged the raise yet."""
    fencing, go = asyncio.Event(), asyncio.Event()
    laggards = SqliteLevels.laggards

    async def slowly(self: SqliteLevels, position: Position) -> Laggards:
        fencing.set()
        await go.wait()
        return await laggards(self, position)

    monkeypatch.setattr(SqliteLevels, "laggards", slowly)
    scenario = {"tools/call": [{"say": TALKATIVE, **end}]}
    async with (
        spying(carrier, tmp_path, scenario, **TRUSTED) as loose,
        at_work(loose.config, events=events) as session,
    ):
        hearing = Hearing(session)
        call = asyncio.create_task(session.call("loose_act", on_progress=hearing))
        async with fail_after(15, "the raise"):
            await fencing.wait()
        await settled()
        try:
            assert not call.done()
            assert hearing.told == []
            assert events.calls == []
        finally:
            go.set()
        await call


def holds_words(value: object) -> bool:
    return WORDS in repr(value)


async def full(*_: object) -> None:
    raise StoreError("the disk is full")


@pytest.mark.parametrize("end", [*ENDS.values(), {"exit": 3}], ids=[*ENDS, "nothing at all"])
async def test_what_cannot_be_kept_is_withheld_down_to_the_last_word(
    carrier: str, end: dict[str, Any], tmp_path: Path, events: Events, monkeypatch: pytest.MonkeyPatch
):
    scenario = {"tools/call": [{"say": TALKATIVE, **end}, answer()]}
    async with (
        spying(carrier, tmp_path, scenario, **TRUSTED) as loose,
        running(loose.config, events=events) as runtime,
    ):
        session = runtime.session("alice", "s-1")
        await session.connect()
        monkeypatch.setattr(SqliteLevels, "raise_level", full)
        hearing = Hearing(session)
        failure = bad(await session.call("loose_act", on_progress=hearing), FailureKind.DENIED)

        assert failure.code == "BSC-303"
        assert not holds_words(failure)
        assert hearing.told == []
        assert session.sensitivity is SECRET
        bad(await session.call("loose_act", {"text": WORDS}), FailureKind.DENIED)
        assert WORDS.encode() not in loose.heard
    assert not holds_words([(event.outcome, event.findings) for event in events.calls])


async def test_of_two_calls_that_bring_the_same_the_second_waits_for_the_raise_of_the_first_too(
    carrier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The level is there in memory from the first label on. The second outcome must not take that for kept."""
    raising, go = asyncio.Event(), asyncio.Event()
    raise_level = SqliteLevels.raise_level

    async def slowly(*args: Any) -> Any:
        raising.set()
        await go.wait()
        return await raise_level(*args)

    scenario = {"tools/call": [answer("internal")]}
    async with spying(carrier, tmp_path, scenario, **TRUSTED) as loose, at_work(loose.config) as session:
        await session.connect()
        monkeypatch.setattr(SqliteLevels, "raise_level", slowly)
        first = asyncio.create_task(session.call("loose_act"))
        async with fail_after(15, "the raise"):
            await raising.wait()
        second = asyncio.create_task(session.call("loose_act"))
        await loose.until_asked("tools/call", 2)
        await asyncio.sleep(0.1)
        try:
            assert session.sensitivity is INTERNAL
            assert not first.done()
            assert not second.done()
        finally:
            go.set()
        assert [good(await call).text for call in (first, second)] == [WORDS, WORDS]
