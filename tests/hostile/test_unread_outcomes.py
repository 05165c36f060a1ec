"""Requests that may have brought private data, and end without anything that can be read: the worst is assumed, and
nothing goes out any more."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.config import Timeouts
from bascule.core.errors import ConnectionLost, PoolTimeout
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.request import Request
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.session import AgentSession
from support.offers import life
from support.runtime import TIMEOUTS, Events, at_work, bad, good, running, settled, staged, twinned
from support.spies import CARRIERS, WORDS, Spy, answer, progress, spying
from support.waiting import fail_after, until

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity

SHORT = replace(TIMEOUTS, call=0.4)
"""Seconds for a call. The server never answers, so it does not matter how slow the machine is."""

CAP = 100_000
"""Longest message that is taken here."""

GARBAGE = '{"jsonrpc": "2.0", "id": $ID, "result": ' + f'"{WORDS}"' + "}"
TOO_LARGE = '{"jsonrpc": "2.0", "id": $ID, "result": {"content": [], "x": "' + WORDS * CAP + '"}}'

ENDS: dict[str, dict[str, Any]] = {
    "silence": {},
    "silence after a word": {"say": [progress(WORDS)], "silent": True},
    "a lost connection": {"exit": 3},
    "a reply that is none": {"say": [GARBAGE]},
    "a reply that is too large": {"say": [TOO_LARGE]},
    "an error that is none": {"error": WORDS},
}

WORD: dict[str, tuple[dict[str, Any], DataSensitivity]] = {
    "labels are trusted": ({"trust": ("labels",)}, SECRET),
    "a rule": ({"raises": {"act": "internal"}}, INTERNAL),
    "a rule, and labels are trusted": ({"raises": {"act": "internal"}, "trust": ("labels",)}, INTERNAL),
}


@pytest.fixture(params=CARRIERS)
def carrier(request: pytest.FixtureRequest) -> str:
    return request.param


async def nothing_more_gets_out(session: AgentSession, loose: Spy) -> None:
    bad(await session.call("loose_act", {"text": WORDS}), FailureKind.DENIED)
    assert WORDS.encode() not in loose.heard


def causes(session: AgentSession) -> list[str]:
    return [receipt.cause.by for receipt in session.receipts]


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_after_an_end_that_cannot_be_read_of_a_tool_that_labels_the_agent_session_is_secret(
    carrier: str, end: dict[str, Any], tmp_path: Path
):
    scenario = {"tools/call": [end, answer()]}
    async with (
        spying(carrier, tmp_path, scenario, trust=("labels",), timeouts=SHORT) as loose,
        at_work(loose.config, message_max=CAP) as session,
    ):
        outcome = await session.call("loose_act", on_progress=lambda *_: None)

        assert isinstance(outcome, ToolFailure)
        assert session.sensitivity is SECRET
        assert causes(session) == ["no readable outcome"]
        await nothing_more_gets_out(session, loose)


@pytest.mark.parametrize(("word", "level"), WORD.values(), ids=WORD)
async def test_a_call_without_an_answer_raises_as_the_operators_word_says(
    carrier: str, word: dict[str, Any], level: DataSensitivity, tmp_path: Path
):
    async with (
        spying(carrier, tmp_path, {"tools/call": [{}]}, timeouts=SHORT, **word) as loose,
        at_work(loose.config) as session,
    ):
        bad(await session.call("loose_act"), FailureKind.TIMEOUT)
        assert session.sensitivity is level


async def test_a_call_without_an_answer_raises_to_the_rule_also_at_the_twin(tmp_path: Path):
    async with (
        spying("stdio", tmp_path, raises={"act": "confidential"}, timeouts=SHORT) as loose,
        spying("stdio", tmp_path, {"tools/call": [{}]}, name="twin") as twin,
        at_work(twinned(loose.config, twin.config)) as session,
    ):
        bad(await session.call("loose_act"), FailureKind.TIMEOUT)

        assert session.sensitivity is CONFIDENTIAL
        assert loose.asked("tools/call") == []


@pytest.mark.parametrize("status", ["500 Oops", "502 Bad Gateway", "504 Too Late", "404 Not Found"])
async def test_a_bare_status_of_http_is_no_answer(status: str, tmp_path: Path):
    scenario = {"tools/call": [{"status": status, "body": f"the row was {WORDS}"}]}
    async with spying("http", tmp_path, scenario, trust=("labels",)) as loose, at_work(loose.config) as session:
        assert isinstance(await session.call("loose_act"), ToolFailure)
        assert session.sensitivity is SECRET
        await nothing_more_gets_out(session, loose)


@pytest.mark.parametrize("status", ["429 Slowly", "503 Later"])
async def test_who_was_too_busy_to_look_at_a_request_has_not_answered_it_with_anything(status: str, tmp_path: Path):
    scenario = {"tools/call": [{"status": status, "body": "later"}]}
    async with spying("http", tmp_path, scenario, trust=("labels",)) as loose, at_work(loose.config) as session:
        bad(await session.call("loose_act"), FailureKind.UNAVAILABLE)
        assert session.sensitivity is PUBLIC


async def test_an_error_without_labels_is_an_answer_and_raises_nothing(carrier: str, tmp_path: Path):
    scenario = {"tools/call": [{"error": {"code": -1, "message": "no"}}]}
    async with spying(carrier, tmp_path, scenario, trust=("labels",)) as loose, at_work(loose.config) as session:
        bad(await session.call("loose_act"), FailureKind.TOOL_ERROR)
        assert (session.sensitivity, session.receipts) == (PUBLIC, ())


@pytest.mark.parametrize(("word", "level"), WORD.values(), ids=WORD)
async def test_a_caller_who_gives_up_after_the_data_was_read_has_seen_the_worst(
    carrier: str, word: dict[str, Any], level: DataSensitivity, tmp_path: Path, events: Events
):
    async with (
        spying(carrier, tmp_path, {"tools/call": [{}]}, **word) as loose,
        at_work(loose.config, events=events) as session,
    ):
        call = asyncio.create_task(session.call("loose_act"))
        await loose.until_asked("tools/call")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        # In that very step, not when somebody gets round to it.
        assert session.sensitivity is level
        await until(lambda: [receipt.after for receipt in session.receipts] == [level])
    assert [event.outcome.kind for event in events.calls if isinstance(event.outcome, ToolFailure)] == ["aborted"]


async def test_what_a_caller_gave_up_is_remembered_after_a_restart(carrier: str, tmp_path: Path):
    async with spying(carrier, tmp_path, {"tools/call": [{}]}, trust=("labels",)) as loose:
        async with at_work(loose.config) as session:
            call = asyncio.create_task(session.call("loose_act"))
            await loose.until_asked("tools/call")
            call.cancel()
            await asyncio.wait((call,))
        async with at_work(loose.config) as session:
            await session.begin()
            assert session.sensitivity is SECRET
            bad(await session.call("loose_act", {"text": WORDS}), FailureKind.DENIED)
            assert WORDS.encode() not in loose.heard


async def test_a_resource_and_a_prompt_that_end_without_an_answer_count_too(carrier: str, tmp_path: Path):
    prompts = ({"name": "greet"},)
    scenario = life(uris=("note://a",), prompts=prompts, scenario={"resources/read": [{}], "prompts/get": [{}]})
    # The rule speaks of tools: what is none is not covered by it, whatever it is called.
    word: dict[str, Any] = {"trust": ("labels",), "raises": {"*": "internal"}, "timeouts": SHORT}
    async with spying(carrier, tmp_path, scenario, **word) as loose, running(loose.config) as runtime:
        reader, filler = runtime.session("alice", "s-1"), runtime.session("alice", "s-2")
        bad(await reader.read("note://a"), FailureKind.TIMEOUT)
        bad(await filler.prompt("loose_greet"), FailureKind.TIMEOUT)

        assert (reader.sensitivity, filler.sensitivity) == (SECRET, SECRET)


# What surely never left


async def test_a_server_that_cannot_be_reached_raises_nothing(tmp_path: Path):
    gone = Timeouts(connect=5, reconnect=5, probe=5, list=5, call=5, close=1)
    async with spying("http", tmp_path, trust=("labels",), timeouts=gone) as loose:
        config = loose.config
    async with at_work(config) as session:
        bad(await session.call("loose_act"), FailureKind.CONNECTION_ERROR)
        assert session.sensitivity is PUBLIC


def unsent(_: Request) -> dict[str, Any]:
    raise ConnectionLost("gone", sent=False)


async def test_what_was_never_sent_raises_nothing():
    async with staged(unsent, trust=("labels",)) as session:
        bad(await session.call("work_act"), FailureKind.CONNECTION_ERROR)
        assert (session.sensitivity, session.receipts) == (PUBLIC, ())


@asynccontextmanager
async def losing(lease: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[AgentSession]:
    """An agent session whose one link is lost before the call is written, and for another one has this."""
    links: list[Any] = []

    def lost(request: Request) -> dict[str, Any]:
        links[0].retire(("work",), "gone")
        return unsent(request)

    async with staged(lost, trust=("labels",)) as session:
        await session.connect()
        links.append(session._roster.links)
        monkeypatch.setattr(session._roster, "lease", lease)
        yield session


async def test_what_was_never_sent_and_then_found_no_other_link_raises_nothing(monkeypatch: pytest.MonkeyPatch):
    async def none_free(*_: Any, **__: Any) -> Any:
        raise PoolTimeout("none free")

    async with losing(none_free, monkeypatch) as session:
        bad(await session.call("work_act"), FailureKind.UNAVAILABLE)
        assert session.sensitivity is PUBLIC


async def test_who_gives_up_before_it_was_sent_again_raises_nothing(monkeypatch: pytest.MonkeyPatch):
    waiting = asyncio.Event()

    async def never(*_: Any, **__: Any) -> Any:
        waiting.set()
        await asyncio.get_running_loop().create_future()

    async with losing(never, monkeypatch) as session:
        call = asyncio.create_task(session.call("work_act"))
        async with fail_after(10, "the second round"):
            await waiting.wait()
        call.cancel()
        await asyncio.wait((call,))
        assert session.sensitivity is PUBLIC


async def test_one_lost_under_way_that_is_sent_again_has_raised_before(tmp_path: Path):
    """What the first round may have brought is assumed before the second is decided, which finds the lane closed."""
    scenario = {"tools/call": [{"exit": 3}, answer()]}
    word: dict[str, Any] = {"trust": ("labels",), "idempotent": ("act",)}
    async with spying("stdio", tmp_path, scenario, **word) as loose, at_work(loose.config) as session:
        bad(await session.call("loose_act"), FailureKind.DENIED)
        assert session.sensitivity is SECRET
        assert len(loose.asked("tools/call")) == 1


async def test_a_call_that_another_raise_cuts_short_may_have_brought_the_worst(carrier: str, tmp_path: Path):
    async with (
        spying(carrier, tmp_path, {"tools/call": [{}]}, trust=("labels",)) as loose,
        at_work(loose.config) as session,
    ):
        call = asyncio.create_task(session.call("loose_act"))
        await loose.until_asked("tools/call")
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        failure = bad(await call, FailureKind.CONNECTION_ERROR)

        assert failure.code == "BSC-408"
        assert session.sensitivity is SECRET


async def test_an_answer_that_came_in_time_raises_nothing_more(carrier: str, tmp_path: Path):
    async with (
        spying(carrier, tmp_path, {"tools/call": [answer()]}, trust=("labels",)) as loose,
        at_work(loose.config) as session,
    ):
        assert good(await session.call("loose_act")).text == WORDS
        await settled()
        assert session.sensitivity is PUBLIC
