"""The one path of a tool call: whatever happens on it, one outcome and one event."""

import asyncio
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.core.call import ToolCall
from bascule.core.errors import ConnectionLost, PermitLost
from bascule.core.json_types import JsonObject
from bascule.core.outcome import FailureKind
from bascule.core.request import Request
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.policy.exposure import Exposure
from bascule.runtime.execution.executor import ROUNDS
from bascule.runtime.requests.tool_call import TOOL_CALL
from bascule.runtime.session import AgentSession
from bascule.upstream.state import LinkState
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
    ratchet_of,
    settled,
    staged,
    stand_in,
    text,
)
from support.servers import pids

SAYS = a_tool("say", {"properties": {"text": {"type": "string"}, "loud": {"type": "boolean"}}, "required": ["text"]})
COUNTS = a_tool("count", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})


# Each way a call can end


async def test_a_call_is_an_outcome_and_an_event_with_every_step_it_took(log: Path, events: Events):
    async with at_work(obeying(log), events=events) as session:
        outcome = good(await session.call("work_act", {"result": text("done"), "n": None}))

    assert (outcome.text, outcome.server, outcome.tool, outcome.lane) == ("done", "work", "act", Lane.OPEN)
    assert list(outcome.steps) == ["resolve", "validate", "decide", "lease", "send", "read"]
    event = events.call
    assert (event.tool, event.server, event.lane, event.outcome) == ("work_act", "work", Lane.OPEN, outcome)
    assert (event.principal, event.source, event.findings) == (session.principal, "mcp", ())
    assert event.arguments == {"result": "object[1]", "n": "null"}
    assert event.steps == outcome.steps
    assert event.at > 0


async def test_an_error_of_the_tool_is_told_in_its_own_words(log: Path, events: Events):
    said = {"isError": True, "structuredContent": {"message": "no such row", "code": 404}}
    async with at_work(obeying(log), events=events) as session:
        failure = bad(await session.call("work_act", {"result": said}), FailureKind.TOOL_ERROR)

    assert (failure.message, failure.tool_code) == ("no such row (code=404)", 404)
    assert failure.cause == said["structuredContent"]
    assert events.call.outcome is failure


async def test_an_error_of_the_protocol_keeps_its_code_and_data(log: Path, events: Events):
    error = {"code": -32602, "message": "what row", "data": {"row": 7}}
    async with at_work(obeying(log), events=events) as session:
        failure = bad(await session.call("work_act", {"error": error}), FailureKind.TOOL_ERROR)

    assert (failure.message, failure.tool_code, failure.cause) == ("what row", -32602, {"row": 7})
    assert "send" not in failure.steps
    assert events.call.outcome is failure


async def test_an_unknown_tool_names_the_nearest(log: Path, events: Events):
    async with at_work(obeying(log), events=events) as session:
        failure = bad(await session.call("work_acts", {}), FailureKind.UNKNOWN_TOOL)

    assert "work_act" in failure.message
    assert (failure.server, failure.tool, failure.steps) == ("", "work_acts", {})
    assert (events.call.tool, events.call.server, events.call.outcome) == ("work_acts", "", failure)


async def test_invalid_arguments_never_reach_the_server(log: Path, events: Events):
    async with at_work(obeying(log, SAYS), events=events) as session:
        failure = bad(await session.call("work_say", {"text": 7}), FailureKind.INVALID_ARGUMENTS)

    assert "say(text: string, loud?: boolean)" in failure.message
    assert (failure.server, failure.tool, list(failure.steps)) == ("work", "say", ["resolve"])
    assert events.call.arguments == {"text": "number"}
    assert events.call.outcome is failure
    assert calls_in(log) == []


async def test_a_tool_that_is_hidden_looks_exactly_like_one_that_is_not_there(tmp_path: Path, events: Events):
    """Two servers alike, but for a tool that one hides and the other does not have."""
    answers: list[Any] = []
    for name, tools in (("hides", [a_tool("open"), a_tool("secret")]), ("lacks", [a_tool("open")])):
        async with at_work(obeying(tmp_path / name, *tools, block=("secret",)), events=events) as session:
            assert [spec.name for spec in await session.tools()] == ["work_open"]
            answers.append(bad(await session.call("work_secret", {"n": 1}), FailureKind.UNKNOWN_TOOL))

    assert answers[0] == answers[1]
    hidden, absent = events.calls
    assert (hidden.server, hidden.lane, hidden.findings) == (absent.server, absent.lane, absent.findings)
    assert calls_in(tmp_path / "hides") == []


async def test_a_tool_hidden_since_it_was_found_shows_nothing_of_itself(log: Path, events: Events):
    async with at_work(obeying(log), events=events) as session:
        good(await session.call("work_act", {}))
        session._standing.roster.listings.exposures["work"] = Exposure.of([])
        session._standing.roster.listings.version += 1
        failure = bad(await session.call("work_act", {}), FailureKind.UNKNOWN_TOOL)

    assert (failure.server, failure.tool, failure.lane, failure.steps) == ("", "work_act", Lane.OPEN, {})
    assert len(calls_in(log)) == 1
    assert len(events.calls) == 2


async def test_a_tool_that_cannot_be_used_is_denied_and_says_why(log: Path, events: Events):
    async with at_work(obeying(log, a_tool("odd", {"type": "array"})), events=events) as session:
        failure = bad(await session.call("work_odd", {}), FailureKind.DENIED)

    assert "arguments are always an object" in failure.message
    assert events.call.outcome is failure
    assert calls_in(log) == []


async def test_a_session_that_has_seen_private_data_is_denied_and_told_so(log: Path, events: Events):
    async with at_work(obeying(log), events=events) as session:
        await session.connect()
        ratchet_of(session).hold(DataSensitivity.CONFIDENTIAL, "seen in a test")
        failure = bad(await session.call("work_act", {}), FailureKind.DENIED)

    assert "has seen confidential data" in failure.message
    assert failure.fix
    assert events.call.outcome is failure
    assert calls_in(log) == []


async def test_a_server_that_does_not_answer_in_time_is_told_that_nobody_waits(log: Path, events: Events):
    async with at_work(obeying(log, timeouts=replace(TIMEOUTS, call=0.2)), events=events) as session:
        failure = bad(await session.call("work_act", {"silent": True}), FailureKind.TIMEOUT)
        good(await session.call("work_act", {}, timeout=10))

    assert (failure.code, failure.retriable) == ("BSC-403", True)
    assert "within 0.2 s" in failure.message
    assert "timeouts.call" in failure.fix
    assert events.calls[0].outcome is failure
    assert len(events.calls) == 2
    assert '"notifications/cancelled"' in log.read_text()


async def test_a_call_can_have_a_time_limit_of_its_own(log: Path, events: Events):
    async with at_work(obeying(log), events=events) as session:
        failure = bad(await session.call("work_act", {"silent": True}, timeout=0.05), FailureKind.TIMEOUT)

    assert "within 0.05 s" in failure.message


async def test_a_server_that_dies_of_a_call_is_told_with_its_last_words_and_not_asked_twice(log: Path, events: Events):
    async with at_work(obeying(log), events=events) as session:
        failure = bad(await session.call("work_act", {"exit": "out of memory"}), FailureKind.CONNECTION_ERROR)

    assert (failure.code, failure.message) == ("BSC-402", "the server exited with code 1")
    assert failure.evidence == "out of memory"
    assert len(calls_in(log)) == 1
    assert len(pids(log)) == 1
    assert events.call.outcome is failure


@pytest.mark.parametrize(
    "result",
    [{"structuredContent": {"n": "three"}, "content": []}, text("3"), {"resultType": "task"}, {"content": "3"}],
    ids=["does not fit", "has no structure", "other kind", "misshapen"],
)
async def test_a_result_that_is_not_what_was_promised_is_kept_raw(log: Path, events: Events, result: JsonObject):
    async with at_work(obeying(log, COUNTS), events=events) as session:
        failure = bad(await session.call("work_count", {"result": result}), FailureKind.PROTOCOL_ERROR)

    assert failure.code == "BSC-404"
    assert failure.cause == result
    assert "send" in failure.steps
    assert events.call.outcome is failure


async def test_a_caller_who_stops_waiting_is_cancelled_and_the_event_says_aborted(log: Path, events: Events):
    arrived = Arrived()
    async with at_work(obeying(log), events=events) as session:
        orders = {"silent": True, "progress": [1]}
        waiting = asyncio.create_task(session.call("work_act", orders, on_progress=arrived))
        await arrived.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        event = events.call
        good(await session.call("work_act", {}))

    failure = bad(event.outcome, FailureKind.ABORTED)
    assert (event.server, failure.server, failure.tool) == ("work", "work", "act")
    assert list(failure.steps) == ["resolve", "validate", "decide", "lease"]
    assert '"notifications/cancelled"' in log.read_text()


async def test_a_caller_who_stops_waiting_for_the_server_to_start_is_told_apart_too(events: Events):
    async with at_work(stand_in("work", "mute", ""), events=events) as session:
        waiting = asyncio.create_task(session.call("work_act", {}))
        await settled()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert bad(events.call.outcome, FailureKind.ABORTED).server == ""


async def test_a_mistake_of_ours_is_no_outcome(events: Events):
    def broken(_: Request) -> JsonObject:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with staged(broken, events) as session:
            await session.call("work_act", {})
    bad(events.call.outcome, FailureKind.FATAL)


async def test_only_the_arguments_that_were_given_travel(log: Path):
    async with at_work(obeying(log, SAYS)) as session:
        await session.call("work_say", {"text": "hi"})

    (params,) = calls_in(log)
    assert (params["name"], params["arguments"]) == ("say", {"text": "hi"})


async def test_a_trace_of_our_own_travels_and_never_the_callers(log: Path):
    async with at_work(obeying(log)) as session:
        mine = {"_meta": {"traceparent": "00-mine", "baggage": "user=alice"}}
        await session.call("work_act", mine)
        await session.call("work_act", mine)

    metas = [params["_meta"] for params in calls_in(log)]
    assert len({meta["traceparent"] for meta in metas}) == 2
    assert all(meta["traceparent"].startswith("00-") and "mine" not in meta["traceparent"] for meta in metas)
    assert not any("baggage" in meta for meta in metas)
    assert [params["arguments"] for params in calls_in(log)] == [mine, mine]


async def test_progress_reaches_the_caller(log: Path):
    arrived = Arrived()
    async with at_work(obeying(log)) as session:
        good(await session.call("work_act", {"progress": [1]}, on_progress=arrived))

    assert arrived.progress == [1]


async def test_labels_of_a_server_that_is_not_trusted_are_findings_on_any_result_and_raise_nothing(
    log: Path, events: Events
):
    labelled, tools = {**text("pay"), "_meta": {"dev.bascule/labels": ["confidential"]}}, (a_tool("act"), COUNTS)
    async with at_work(obeying(log, *tools), events=events) as session:
        good(await session.call("work_act", {"result": labelled}))
        assert session.sensitivity is DataSensitivity.PUBLIC
        good(await session.call("work_act", {}))
        bad(await session.call("work_count", {"result": labelled}), FailureKind.PROTOCOL_ERROR)

    finding = "work labels its result CONFIDENTIAL, and is not trusted for labels"
    assert [call.findings for call in events.calls] == [(finding,), (), (finding,)]


async def test_a_call_that_waits_for_a_full_pipe_is_decided_again_after_a_raise(log: Path, events: Events):
    async with at_work(obeying(log), events=events) as session, a_full_pipe(session, log) as (pid, before):
        waiting = asyncio.create_task(session.call("work_act", {"mine": "secret"}))
        await settled()
        ratchet_of(session).hold(DataSensitivity.SECRET, "seen in a test")
        os.kill(pid, signal.SIGUSR1)
        failure = bad(await waiting, FailureKind.DENIED)
        for call in before:
            good(await call)

    assert "has seen secret data" in failure.message
    assert len(calls_in(log)) == 2
    assert "mine" not in log.read_text()
    assert [event.outcome.ok for event in events.calls].count(False) == 1


async def test_a_call_that_waits_for_its_link_is_decided_again_after_a_raise(log: Path, events: Events):
    async with at_work(obeying(log), events=events) as session:
        await session.call("work_act", {"exit": 0})
        waiting = asyncio.create_task(session.call("work_act", {"mine": "secret"}))
        states: set[LinkState] = set()
        while LinkState.CONNECTING not in states:
            await asyncio.sleep(0)
            states = {link.condition.state for link in session._standing.roster.links.links()}
        ratchet_of(session).hold(DataSensitivity.SECRET, "seen in a test")
        failure = bad(await waiting, FailureKind.DENIED)

    assert list(failure.steps) == ["resolve", "validate", "decide", "lease"]
    assert len(pids(log)) == 2
    assert len(calls_in(log)) == 1
    assert len(events.calls) == 2


async def test_a_call_is_not_even_handed_over_after_a_raise_while_its_link_was_opened():
    tried: list[Request] = []
    links: list[AgentSession] = []

    def opening() -> None:
        if links:
            ratchet_of(session).hold(DataSensitivity.SECRET, "seen in a test")
        links.append(session)

    async with staged(lambda request: tried.append(request) or text("sent"), on_list=opening) as session:
        await session.connect()
        await session.close()
        bad(await session.call("work_act", {}), FailureKind.DENIED)

    assert len(links) == 2
    assert tried == []


async def test_a_link_that_dies_before_the_call_was_written_is_replaced_by_a_new_one(log: Path, events: Events):
    async with at_work(obeying(log), events=events) as session, a_full_pipe(session, log) as (pid, before):
        waiting = asyncio.create_task(session.call("work_act", {"mine": 1}))
        await settled()
        os.kill(pid, signal.SIGKILL)
        assert json.loads(good(await waiting).text) == {"mine": 1}
        for call in before:
            bad(await call, FailureKind.CONNECTION_ERROR)

    assert len(set(pids(log))) == 2
    assert [params["arguments"] for params in calls_in(log)][1:] == [{"mine": 1}]
    assert len(events.calls) == 3


async def test_arguments_that_change_while_the_call_waits_do_not_travel(log: Path):
    async with at_work(obeying(log)) as session, a_full_pipe(session, log) as (pid, _):
        given: dict[str, Any] = {"rows": [1], "more": {}}
        executor, standing = session._executor, session._standing
        waiting = asyncio.create_task(executor.carry(standing, TOOL_CALL, ToolCall("work_act", given)))
        await settled()
        given["rows"].append(2)
        given["more"]["secret"] = True
        given["late"] = True
        os.kill(pid, signal.SIGKILL)
        good(await waiting)

    assert calls_in(log)[-1]["arguments"] == {"rows": [1], "more": {}}


async def test_a_call_whose_links_keep_dying_is_given_up():
    tried: list[Request] = []

    def dying(request: Request) -> JsonObject:
        tried.append(request)
        raise ConnectionLost("gone", sent=False)

    async with staged(dying) as session:
        failure = bad(await session.call("work_act", {}), FailureKind.CONNECTION_ERROR)

    assert failure.message == "gone"
    assert len(tried) == ROUNDS


async def test_a_call_whose_session_keeps_changing_is_given_up(events: Events):
    tried: list[Request] = []

    def changing(request: Request) -> JsonObject:
        tried.append(request)
        ratchet_of(session).epoch += 1
        raise PermitLost("changed")

    async with staged(changing, events) as session:
        failure = bad(await session.call("work_act", {}), FailureKind.DENIED)

    assert "kept changing" in failure.message
    assert (failure.retriable, failure.retry_after) == (False, "")
    assert len(tried) == ROUNDS
    assert events.call.outcome is failure


async def test_a_server_that_cannot_start_again_is_an_outcome(log: Path, events: Events):
    async with at_work(stand_in("work", "obeying", log, timeouts=TIMEOUTS), events=events) as session:
        await session.connect()
        await session.close()
        log.unlink()
        log.mkdir()
        failure = bad(await session.call("work_act", {}), FailureKind.CONNECTION_ERROR)

    assert "IsADirectoryError" in failure.evidence
    assert list(failure.steps) == ["resolve", "validate", "decide"]
    assert events.call.outcome is failure
