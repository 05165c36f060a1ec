"""Requests that go round again after their link was lost."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from math import inf
from pathlib import Path
from time import perf_counter as now
from typing import Any

import pytest

from bascule.core.call import ToolCall
from bascule.core.errors import ConnectionLost, PeerError, PeerRefused, ProtocolViolation, ReplyTimeout
from bascule.core.json_types import JsonObject
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.request import Request
from bascule.runtime.call_state import Trail
from bascule.runtime.execution.executor import ROUNDS
from bascule.runtime.execution.retries import in_time, rounds_of
from bascule.runtime.prepared_call import Prepared, Rounds
from bascule.runtime.session import AgentSession
from bascule.sensitivity import fence
from bascule.sensitivity.fence import Fence
from bascule.store import deadline
from bascule.store.deadline import StoreWait
from bascule.upstream.link import Link
from support.postgres import PostgresServer
from support.runtime import (
    TIMEOUTS,
    Arrived,
    Events,
    a_full_pipe,
    a_tool,
    at_work,
    bad,
    calls_in,
    good,
    obeying,
    settled,
    staged,
    text,
)
from support.scenarios import log_of, scripted
from support.servers import pids
from support.waiting import fail_after

HARMLESS: dict[str, Any] = {"idempotent": ("act",)}
Lapse = Callable[[AgentSession], Callable[[], None]]
DIES = {"tools/call": [{"exit": 7}]}
"""A life in which the server dies of the first call."""


def link_of(session: AgentSession) -> Link:
    return next(iter(session._standing.roster.links.links()))


async def test_a_call_that_may_be_made_twice_is_after_its_server_died_of_it(tmp_path: Path, events: Events):
    async with at_work(scripted(tmp_path, DIES, {}, **HARMLESS), events=events) as session:
        result = good(await session.call("work_act", {"n": 1}))

    assert result.text == "done"
    assert [call["arguments"] for call in calls_in(log_of(tmp_path))] == [{"n": 1}] * 2
    assert len(pids(log_of(tmp_path))) == 2
    assert events.call.findings == (
        "the link was lost under it (the server exited with code 7); act may be sent again, and went round once more",
    )
    assert [*result.steps] == ["resolve", "validate", "decide", "lease", "send", "read"]


@pytest.mark.parametrize("idempotent", [(), ("other", "act?", "ACT")])
async def test_any_other_is_made_once_and_its_end_told(tmp_path: Path, events: Events, idempotent: tuple[str, ...]):
    annotated = a_tool("act", annotations={"idempotentHint": True, "readOnlyHint": True})
    listed = {"tools/list": [{"result": {"tools": [annotated]}}]}
    server = scripted(tmp_path, DIES | listed, listed, idempotent=idempotent)
    async with at_work(server, events=events) as session:
        failure = bad(await session.call("work_act", {"n": 1}), FailureKind.CONNECTION_ERROR)

    assert (failure.code, failure.message) == ("BSC-402", "the server exited with code 7")
    assert len(calls_in(log_of(tmp_path))) == 1
    assert events.call.findings == ()


async def test_a_call_that_kills_every_server_is_given_up(tmp_path: Path, events: Events):
    async with at_work(scripted(tmp_path, DIES, **HARMLESS), events=events) as session:
        failure = bad(await session.call("work_act"), FailureKind.CONNECTION_ERROR)

    assert failure.message == "the server exited with code 7"
    assert len(calls_in(log_of(tmp_path))) == ROUNDS
    assert len(events.call.findings) == ROUNDS - 1


async def ended_by(error: PeerError | None, *, ends_link: bool) -> int:
    """How often a call is sent whose first sending ends so."""
    tried: list[Request] = []

    def once(request: Request) -> JsonObject:
        tried.append(request)
        if len(tried) > 1:
            return text("done")
        if ends_link:
            dispatcher = link_of(session)._dispatcher
            assert dispatcher is not None
            dispatcher.lost.set_result(ConnectionLost("gone"))
        if error is None:
            return {"resultType": "nonsense"}
        raise error

    async with staged(once, **HARMLESS) as session:
        outcome = await session.call("work_act")
        assert outcome.ok is (len(tried) > 1)
    return len(tried)


@pytest.mark.parametrize(
    ("error", "ends_link", "times"),
    [
        (ConnectionLost("gone"), True, 2),
        (ConnectionLost("this stream ended"), False, 2),
        (ProtocolViolation("garbage"), True, 2),
        (ProtocolViolation("garbage"), False, 1),
        (ReplyTimeout("slow", phase="call", timeout=1), False, 1),
        (ReplyTimeout("slow", phase="call", timeout=1), True, 1),
        (PeerRefused("no", rpc_code=-32000), False, 1),
        (PeerRefused("busy", rpc_code=0, status=503), False, 1),
        (None, False, 1),
    ],
    ids=repr,
)
async def test_only_a_lost_connection_is_a_reason_to_send_again(error: PeerError | None, ends_link: bool, times: int):
    assert await ended_by(error, ends_link=ends_link) == times


async def test_a_link_that_is_closed_on_purpose_is_not_opened_again_by_the_call_it_ends(tmp_path: Path):
    log, arrived = tmp_path / "log", Arrived()
    async with at_work(obeying(log, **HARMLESS)) as session:
        order = {"progress": [1], "silent": True}
        waiting = asyncio.create_task(session.call("work_act", order, on_progress=arrived))
        await arrived.wait()
        await session.close()
        assert "closed" in bad(await waiting, FailureKind.CONNECTION_ERROR).message

    assert len(pids(log)) == 1


async def test_all_rounds_together_have_the_time_of_one():
    tried: list[Request] = []

    def dying(request: Request) -> JsonObject:
        tried.append(request)
        raise ConnectionLost("gone")

    async with staged(dying, **HARMLESS) as session:
        bad(await session.call("work_act", timeout=5), FailureKind.CONNECTION_ERROR)

    limits = [request.timeout for request in tried]
    assert limits[0] == 5
    assert limits == sorted(limits, reverse=True)
    assert len(set(limits)) == ROUNDS


async def test_there_is_no_second_time_when_the_time_is_over(tmp_path: Path):
    """The server lives on for longer than the call has, and dies then: what is told is how it ended."""
    late: list[Request] = []

    def dying(request: Request) -> JsonObject:
        late.append(request)
        while now() < started + 0.05:
            pass
        raise ConnectionLost("gone, and late")

    async with staged(dying, **HARMLESS) as session:
        await session.connect()
        started = now()
        failure = bad(await session.call("work_act", timeout=0.04), FailureKind.CONNECTION_ERROR)

    assert failure.message == "gone, and late"
    assert len(late) == 1


async def test_a_server_that_does_not_come_back_in_time_is_not_waited_for_any_longer(tmp_path: Path):
    silence: dict[str, Any] = {"server/discover": [{}], "initialize": [{}]}
    patient = replace(TIMEOUTS, reconnect=15)
    async with at_work(scripted(tmp_path, DIES, silence, timeouts=patient, **HARMLESS)) as session:
        await session.connect()
        failure = bad(await session.call("work_act", timeout=1.5), FailureKind.CONNECTION_ERROR)

    assert failure.message == "the server exited with code 7"


async def test_what_surely_was_not_sent_is_sent_again_whatever_it_is(tmp_path: Path):
    log = tmp_path / "log"
    async with at_work(obeying(log)) as session, a_full_pipe(session, log) as (_, before):
        waiting = asyncio.create_task(session.call("work_act", {"mine": 1}))
        await settled()
        dispatcher = link_of(session)._dispatcher
        assert dispatcher is not None
        await dispatcher.close(0)
        good(await waiting)
        for call in before:
            bad(await call, FailureKind.CONNECTION_ERROR)


def a_trail(*marks: tuple[str, float]) -> Trail:
    trail = Trail(ToolCall("work_act", {}))
    trail.steps.marks.extend(marks)
    return trail


async def test_the_time_of_a_request_begins_when_its_link_is_there():
    trail = a_trail(("decide", 1.0), ("lease", 5.0), ("send", 9.0))
    async with staged(lambda _: text("done")) as session:
        standing = session._standing
        assert rounds_of(standing, Prepared("tools/call", "work", {}, 3.0), trail) == Rounds(8.0, 3.0)
        assert rounds_of(standing, Prepared("tools/call", "work", {}), trail) == Rounds(
            5.0 + TIMEOUTS.call, TIMEOUTS.call
        )
        going = Rounds(6.0, 4.0, 2)
        assert rounds_of(standing, Prepared("tools/call", "work", {}, 3.0, rounds=going), trail) is going


async def test_what_is_waited_for_first_has_no_limit_here():
    assert await in_time(asyncio.sleep(0, "link"), None, None) == "link"
    assert await in_time(asyncio.sleep(0, "link"), Rounds(now() + 60, 60), None) == "link"


async def test_waiting_for_a_link_ends_with_the_time_of_the_request():
    async with fail_after(4, "waiting"):
        with pytest.raises(ReplyTimeout, match="no other within the 7 s"):
            await in_time(asyncio.Event().wait(), Rounds(now() - 1, 7), None)
        with pytest.raises(ConnectionLost, match="gone"):
            await in_time(asyncio.Event().wait(), Rounds(-inf, 7), ConnectionLost("gone"))


# The lease of the store


@pytest.fixture
def no_lease(monkeypatch: pytest.MonkeyPatch) -> Lapse:
    """Makes each poll too old for a valid lease, until the returned function is called."""

    def begin(session: AgentSession) -> Callable[[], None]:
        monkeypatch.setattr(fence, "HOLDS", 0.0)
        session._raising.fence.lease.until = 0.0
        return lambda: monkeypatch.setattr(fence, "HOLDS", 600.0)

    return begin


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Polls that requests have waited for: `renew` in each round, `look_again` before the last one."""
    waited: list[str] = []

    def counted(name: str) -> None:
        original = getattr(Fence, name)

        async def call(self: Fence) -> None:
            task = asyncio.current_task()
            if task is not None and task.get_name() != "fence":
                waited.append(name)
            await original(self)

        monkeypatch.setattr(Fence, name, call)

    counted("renew")
    counted("look_again")
    return waited


async def test_a_call_that_only_a_lapsed_lease_prevented_names_the_lease_and_may_be_repeated(
    store_address: str | None, log: Path, events: Events, no_lease: Lapse, polls: list[str]
):
    async with at_work(obeying(log), events=events, store=store_address) as session:
        good(await session.call("work_act", {"n": 1}))
        epoch = session._standing.ratchet.epoch
        again = no_lease(session)
        polls.clear()
        failure = bad(await session.call("work_act", {"n": 2}), FailureKind.UNAVAILABLE)
        assert polls == ["renew"] * ROUNDS + ["look_again", "renew", "renew"]
        assert session._standing.ratchet.epoch == epoch
        again()
        good(await session.call("work_act", {"n": 3}))

    assert [call["arguments"]["n"] for call in calls_in(log)] == [1, 3]
    assert (failure.code, failure.retriable, failure.retry_after) == ("BSC-650", True, "2")
    assert "the lease of this runtime lapsed" in failure.message
    assert "the level did not change" in failure.evidence
    assert "call again in 2 s" in failure.fix
    assert events.calls[1].outcome is failure


async def test_a_call_waits_for_one_more_poll_before_a_lapsed_lease_ends_it(
    log: Path, no_lease: Lapse, monkeypatch: pytest.MonkeyPatch
):
    async with at_work(obeying(log)) as session:
        good(await session.call("work_act", {"n": 1}))
        again, look_again = no_lease(session), Fence.look_again

        async def in_time_again(self: Fence) -> None:
            again()
            await look_again(self)

        monkeypatch.setattr(Fence, "look_again", in_time_again)
        good(await session.call("work_act", {"n": 2}))

    assert len(calls_in(log)) == 2


async def test_the_wait_for_one_more_poll_ends_with_the_time_of_the_call(
    log: Path, no_lease: Lapse, monkeypatch: pytest.MonkeyPatch
):
    async with at_work(obeying(log)) as session:
        good(await session.call("work_act", {"n": 1}))
        no_lease(session)

        async def never(_: Fence) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(Fence, "look_again", never)
        async with fail_after(15, "the end of the call"):
            failure = bad(await session.call("work_act", {"n": 2}, timeout=0.5), FailureKind.UNAVAILABLE)

    assert (failure.code, failure.retry_after) == ("BSC-650", "2")
    assert len(calls_in(log)) == 1


async def test_a_level_that_changed_in_one_round_keeps_its_own_reason(
    log: Path, no_lease: Lapse, monkeypatch: pytest.MonkeyPatch, polls: list[str]
):
    async with at_work(obeying(log)) as session:
        good(await session.call("work_act", {"n": 1}))
        no_lease(session)
        once, renew = iter((True,)), Fence.renew

        async def and_change(self: Fence) -> None:
            session._standing.ratchet.epoch += next(once, False)
            await renew(self)

        monkeypatch.setattr(Fence, "renew", and_change)
        failure = bad(await session.call("work_act", {"n": 2}), FailureKind.DENIED)

    assert "kept changing" in failure.message
    assert "look_again" not in polls
    assert len(calls_in(log)) == 1


# The deadline of all waits for the store


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that each wait of a request for the store may take."""
    given, limited = list[float](), StoreWait.limited

    def noted(self: StoreWait) -> AbstractAsyncContextManager[None]:
        given.append(self.left)
        return limited(self)

    monkeypatch.setattr(StoreWait, "limited", noted)
    return given


async def test_the_waits_of_one_call_for_the_store_share_one_deadline(
    store_address: str | None, log: Path, no_lease: Lapse, waits: list[float], monkeypatch: pytest.MonkeyPatch
):
    moved, renew = [100.0], Fence.renew
    monkeypatch.setattr(deadline, "monotonic", lambda: moved[0])

    async def untended(_: Fence) -> None:
        await asyncio.Event().wait()

    async def slow(self: Fence) -> None:
        await renew(self)
        moved[0] += 2.0

    monkeypatch.setattr(Fence, "_tend", untended)
    async with at_work(obeying(log), store=store_address) as session:
        good(await session.call("work_act", {"n": 1}))
        no_lease(session)
        waits.clear()
        monkeypatch.setattr(Fence, "renew", slow)
        bad(await session.call("work_act", {"n": 2}), FailureKind.UNAVAILABLE)

    assert waits == [deadline.LONGEST - 2 * each for each in range(ROUNDS + 2)]


@pytest.mark.parametrize("begun", [True, False])
async def test_a_call_while_the_database_is_paused_waits_once_and_works_after_the_pause(
    database: str,
    postgres: PostgresServer,
    log: Path,
    waits: list[float],
    begun: bool,
    monkeypatch: pytest.MonkeyPatch,
):
    async with at_work(obeying(log), store=database, within=60) as session:
        if begun:
            good(await session.call("work_act", {"n": 1}))
        with monkeypatch.context() as short, postgres.paused():
            short.setattr(deadline, "LONGEST", 0.5)
            session._raising.fence.lease.until = 0.0
            waits.clear()
            async with fail_after(5, "the deadline"):
                failure = bad(await session.call("work_act", {"n": 2}), FailureKind.UNAVAILABLE)
            assert waits == [0.5]
        async with fail_after(30, "the first call after the pause"):
            # A look that began in the pause may fail yet.
            while isinstance(await session.call("work_act", {"n": 3}), ToolFailure):
                pass

    assert (failure.code, failure.retriable) == ("BSC-650", True)
    assert [call["arguments"]["n"] for call in calls_in(log)] == ([1, 3] if begun else [3])
