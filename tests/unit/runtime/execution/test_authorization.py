"""The terms of a request: what is decided, asked and raised for it, and what is kept from whoever made it."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.config import RuntimeConfig
from bascule.core.call import ToolCall
from bascule.core.client_features import Approval
from bascule.core.errors import ConnectionLost, OutcomeWithheld, Refused, StoreError, UnknownTool
from bascule.core.outcome import FailureKind, Outcome, ToolFailure
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.policy.facts import Facts
from bascule.policy.rules import RULES, Rule, rule
from bascule.policy.verdict import Ask, Refusal
from bascule.runtime.call_state import Trail
from bascule.runtime.execution.authorization import Terms, withheld
from bascule.runtime.prepared_call import Prepared
from bascule.runtime.requests.tool_call import TOOL_CALL, prepare
from bascule.runtime.session import AgentSession
from bascule.sensitivity.private_data import LABELS_KEY
from bascule.store.sqlite.levels import SqliteLevels
from support.runtime import Events, a_tool, at_work, bad, calls_in, obeying, ratchet_of, settled, twinned
from support.waiting import fail_after

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
TOOLS = (a_tool("act"), a_tool("read"))


def terms_of(session: AgentSession) -> Terms:
    return session._executor._terms


def a_trail(name: str = "work_act") -> Trail:
    trail = Trail(ToolCall(name, {}))
    trail.server, trail.tool = "work", name.removeprefix("work_")
    return trail


async def settle(session: AgentSession, trail: Trail, arguments: dict[str, Any] | None = None) -> Lane:
    """Decide about a call of the tool that a trail is about."""
    await session.connect()
    entry = await session._standing.resolve(trail.name)
    prepared = prepare(entry, ToolCall(trail.name, arguments or {}))
    return await terms_of(session).settle(session._standing, TOOL_CALL, entry.spec, prepared, trail)


# Before a request is sent


async def test_what_is_allowed_is_remembered(log: Path):
    async with at_work(obeying(log)) as session:
        assert await settle(session, a_trail()) is Lane.OPEN
        assert session._standing.allowed(session.toolbox.resolve("work_act").spec) is Lane.OPEN


async def test_what_a_rule_raises_is_raised_before_and_is_not_remembered(log: Path, tmp_path: Path, events: Events):
    server = twinned(obeying(log, *TOOLS, raises={"read": "secret"}), obeying(tmp_path / "twin", *TOOLS))
    async with at_work(server, events=events) as session:
        assert await settle(session, a_trail("work_read")) is Lane.SEALED

        assert (session.sensitivity, ratchet_of(session).settled) == (SECRET, SECRET)
        assert [event.cause.by for event in events.raises] == ["raises rule"]
        assert session._standing.allowed(session.toolbox.resolve("work_read").spec) is None


async def test_what_would_be_refused_at_the_new_level_raises_nothing(log: Path, events: Events):
    async with at_work(obeying(log, *TOOLS, raises={"read": "secret"}), events=events) as session:
        with pytest.raises(Refused) as caught:
            await settle(session, a_trail("work_read"))

        assert caught.value.rule == "data_stays_in"
        assert (session.sensitivity, events.raises) == (PUBLIC, [])


async def test_a_raise_that_is_on_its_way_is_waited_for_by_whoever_needs_it_too(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    server = twinned(obeying(log, *TOOLS, raises={"read": "secret"}), obeying(tmp_path / "twin", *TOOLS))
    async with at_work(server) as session:
        await session.connect()
        fence, go = session._raising.fence, asyncio.Event()

        async def slowly(_number: int | None = None) -> str:
            await go.wait()
            return ""

        monkeypatch.setattr(fence, "settle", slowly)
        waiting = [asyncio.create_task(settle(session, a_trail("work_read"))) for _ in range(2)]
        while session.sensitivity is not SECRET:  # noqa: ASYNC110 -- the first has begun to raise it
            await asyncio.sleep(0.001)
        late = asyncio.create_task(settle(session, a_trail("work_read")))
        await settled()
        assert not any(task.done() for task in (*waiting, late))
        go.set()
        assert await asyncio.gather(*waiting, late) == [Lane.SEALED] * 3


async def test_where_a_lease_has_run_out_the_store_is_looked_at_first(log: Path):
    async with at_work(obeying(log)) as session:
        await session.connect()
        session._raising.fence.lease.until = 0.0
        assert await settle(session, a_trail()) is Lane.OPEN
        assert session._raising.fence.lease.valid()


async def test_a_person_is_shown_what_will_be_sent(log: Path):
    asked: list[Approval] = []

    def person(approval: Approval) -> bool:
        asked.append(approval)
        return True

    async with at_work(obeying(log, ask=("act",)), on_ask=person) as session:
        trail = a_trail()
        assert await settle(session, trail, {"n": [1, 2]}) is Lane.OPEN
        assert trail.agreed
        assert session._standing.allowed(session.toolbox.resolve("work_act").spec) is None
        # Once is enough, however often it is decided.
        assert await settle(session, trail) is Lane.OPEN

    assert [(approval.name, approval.tool, approval.arguments) for approval in asked] == [
        ("work_act", "act", {"n": [1, 2]})
    ]


async def test_to_one_who_may_not_know_of_a_tool_there_is_none(log: Path, monkeypatch: pytest.MonkeyPatch):
    async with at_work(obeying(log)) as session:
        await session.connect()
        monkeypatch.setattr("bascule.policy.exposure.Exposure.permits", lambda *_: False)
        with pytest.raises(UnknownTool):
            await settle(session, a_trail())


# Rules that differ from call to call


@pytest.fixture
def add_rules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Adds rules behind the built-in ones. There is no way for users to do so."""
    return lambda *rules: monkeypatch.setattr("bascule.runtime.session_context.RULES", (*RULES, *rules))


@rule("arguments")
def small_numbers(facts: Facts) -> Refusal | None:
    """Allows a preview, which has no arguments."""
    number = 0 if facts.arguments is None else facts.arguments["n"]
    return Refusal("small_numbers", f"{number} is too large") if number > 9 else None


async def test_a_rule_that_reads_arguments_is_evaluated_at_each_call(log: Path, add_rules: Callable[..., None]):
    add_rules(small_numbers)
    async with at_work(obeying(log)) as session:
        outcomes = [await session.call("work_act", {"n": number}) for number in (1, 2, 10, 3, 11)]

    assert [outcome.ok for outcome in outcomes] == [True, True, False, True, False]
    assert "10 is too large" in bad(outcomes[2], FailureKind.DENIED).message
    assert [call["arguments"]["n"] for call in calls_in(log)] == [1, 2, 3]


async def test_a_rule_that_reads_the_time_is_evaluated_at_each_call(log: Path, add_rules: Callable[..., None]):
    closes, times = [float("inf")], list[float]()

    @rule("now")
    def open_hours(facts: Facts) -> Refusal | None:
        times.append(facts.now)
        return Refusal("open_hours", "too late") if facts.now >= closes[0] else None

    add_rules(open_hours)
    started = time.time()
    async with at_work(obeying(log)) as session:
        assert [(await session.call("work_act", {})).ok for _ in range(3)] == [True] * 3
        closes[0] = time.time()
        bad(await session.call("work_act", {}), FailureKind.DENIED)
        closes[0] = float("inf")
        assert (await session.call("work_act", {})).ok

    assert len(calls_in(log)) == 4
    seen = [started, *times, time.time()]
    assert seen == sorted(seen)


async def test_a_rule_that_declares_nothing_is_evaluated_at_each_call(log: Path, add_rules: Callable[..., None]):
    quota = [2]

    def counted(_: Facts) -> Refusal | None:
        quota[0] -= 1
        return Refusal("counted", "no more") if quota[0] < 0 else None

    add_rules(counted)
    async with at_work(obeying(log)) as session:
        assert [(await session.call("work_act", {})).ok for _ in range(4)] == [True, True, False, False]


async def test_beside_such_a_rule_the_verdict_of_the_others_is_still_remembered(
    log: Path, add_rules: Callable[..., None]
):
    evaluated: list[str] = []

    def noting(name: str, *reads: str) -> Rule:
        def noted(_: Facts) -> Refusal | None:
            evaluated.append(name)
            return None

        return rule(*reads)(noted)

    add_rules(noting("by level", "level"), noting("by arguments", "arguments"))
    async with at_work(obeying(log)) as session:
        await session.call("work_act", {})
        evaluated.clear()
        await session.call("work_act", {})
        assert evaluated == ["by arguments"]
        ratchet_of(session).hold(INTERNAL, "seen in a test")
        await session.call("work_act", {})

    assert evaluated == ["by arguments", "by level", "by arguments"]


async def test_a_rule_may_want_an_approval_of_certain_arguments_alone(log: Path, add_rules: Callable[..., None]):
    @rule("arguments")
    def large_numbers_need_approval(facts: Facts) -> Ask | None:
        return Ask("large_numbers_need_approval", "large") if facts.arguments and facts.arguments["n"] > 9 else None

    asked: list[Any] = []

    def agree(approval: Approval) -> bool:
        asked.append(approval.arguments["n"])
        return len(asked) == 1

    add_rules(large_numbers_need_approval)
    async with at_work(obeying(log), on_ask=agree) as session:
        outcomes = [(await session.call("work_act", {"n": number})).ok for number in (1, 10, 2, 11)]

    assert (outcomes, asked) == ([True, True, True, False], [10, 11])


async def test_a_wrapper_is_not_called_with_arguments_that_a_rule_refuses(log: Path, add_rules: Callable[..., None]):
    wrapped: list[Any] = []

    async def wrapper(call: Any, arguments: dict[str, Any]) -> Outcome:
        wrapped.append(arguments["n"])
        return await call(arguments | {"n": 5 * arguments["n"]})

    add_rules(small_numbers)
    runtime = Runtime(RuntimeConfig({"work": obeying(log)}))
    runtime.wrap("work_act", wrapper)
    async with fail_after(30), runtime:
        session = runtime.session("alice", "s-1")
        assert [(await session.call("work_act", {"n": number})).ok for number in (1, 2, 10)] == [True, False, False]

    assert (wrapped, [call["arguments"]["n"] for call in calls_in(log)]) == ([1, 2], [5])


# After


async def test_a_label_is_kept_before_the_reply_is_seen(log: Path):
    async with at_work(obeying(log, trust=("labels",))) as session:
        await session.begin()
        await terms_of(session).take_in(
            session._standing, TOOL_CALL, {"_meta": {LABELS_KEY: ["confidential"]}}, a_trail()
        )

        assert ratchet_of(session).settled is CONFIDENTIAL
        assert [receipt.cause.by for receipt in session.receipts] == ["label"]


async def test_what_a_failure_hides_is_assumed_before_it_is_told(log: Path):
    async with at_work(obeying(log, trust=("labels",))) as session:
        await session.begin()
        trail, error = a_trail(), ConnectionLost("gone")
        trail.unread = SECRET

        assert await terms_of(session).learn(session._standing, error, trail) is error
        assert ratchet_of(session).settled is SECRET
        assert trail.unread is None
        assert [receipt.cause.by for receipt in session.receipts] == ["no readable outcome"]


async def test_where_nothing_can_be_kept_the_failure_is_withheld(log: Path, monkeypatch: pytest.MonkeyPatch):
    async def full(*_: Any) -> None:
        raise StoreError("the disk is full")

    async with at_work(obeying(log, trust=("labels",))) as session:
        await session.begin()
        monkeypatch.setattr(session._raising._store, "raise_level", full)
        trail = a_trail()
        trail.unread = CONFIDENTIAL
        told = await terms_of(session).learn(session._standing, ConnectionLost("gone"), trail)

        assert isinstance(told, OutcomeWithheld)
        assert session.sensitivity is SECRET


async def test_where_nobody_waits_any_more_the_raise_is_begun_at_once(log: Path):
    async with at_work(obeying(log, trust=("labels",))) as session:
        await session.begin()
        trail = a_trail()
        terms_of(session).assume(session._standing, trail)
        assert session.sensitivity is PUBLIC
        trail.unread = SECRET
        terms_of(session).assume(session._standing, trail)
        assert session.sensitivity is SECRET
    assert [receipt.after for receipt in session.receipts] == [SECRET]


# What is kept back


def heard(_progress: float, _total: float | None, _message: str | None) -> None:
    """What a caller does with progress."""


WITH_PROGRESS = Prepared("tools/call", "work", {}, on_progress=heard)
SILENT = Prepared("tools/call", "work", {})


async def test_progress_is_kept_back_where_labels_may_come(log: Path):
    async with at_work(obeying(log, trust=("labels",))) as session:
        await session.begin()
        trail = a_trail()
        held = withheld(session._standing, WITH_PROGRESS, trail)
        assert held.on_progress is trail.withholding is not None
        # In the next round too, and by the same one.
        assert withheld(session._standing, WITH_PROGRESS, trail).on_progress is trail.withholding
        assert withheld(session._standing, SILENT, a_trail()) is SILENT


async def test_progress_is_not_kept_back_where_nothing_can_be_learned(log: Path):
    async with at_work(obeying(log, raises={"act": "internal"})) as session:
        await session.begin()
        assert withheld(session._standing, WITH_PROGRESS, a_trail()) is WITH_PROGRESS
    async with at_work(obeying(log, trust=("labels",))) as session:
        await session.add_private_dataset("payroll", SECRET)
        assert withheld(session._standing, WITH_PROGRESS, a_trail()) is WITH_PROGRESS


async def test_who_gives_up_while_a_failure_is_learned_from_is_recorded_once_and_the_level_rises_all_the_same(
    tmp_path: Path, events: Events, monkeypatch: pytest.MonkeyPatch
):
    keeping, go_on = asyncio.Event(), asyncio.Event()
    keep = SqliteLevels.raise_level

    async def slow(self: Any, *change: Any) -> Any:
        keeping.set()
        await go_on.wait()
        return await keep(self, *change)

    monkeypatch.setattr(SqliteLevels, "raise_level", slow)
    async with at_work(obeying(tmp_path / "log", trust=("labels",)), events=events) as session:
        call = asyncio.create_task(session.call("work_act", {"exit": 3}))
        async with fail_after(30, "the raise"):
            await keeping.wait()
        call.cancel()
        await asyncio.wait((call,))
        assert session.sensitivity is SECRET
        go_on.set()

    assert isinstance(events.call.outcome, ToolFailure)
    assert events.call.outcome.kind is FailureKind.ABORTED
    assert [raised.after for raised in events.raises] == [SECRET]
