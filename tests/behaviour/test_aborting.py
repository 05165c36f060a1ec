"""A caller who stops waiting, at whatever moment: the server hears of it, and it is no failure of the tool."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from bascule import Decline, Elicitation, ToolFailure
from bascule.config import ServerConfig, StreamableHttpTransport, Timeouts
from bascule.core.events import LinkChanged
from bascule.core.outcome import FailureKind
from support.contract import answer_over_http
from support.http_servers import Asked, raw_server
from support.offers import DONE, ELICIT, offering, required
from support.runtime import Arrived, Events, at_work, bad, calls_in, good, obeying
from support.scenarios import log_of, scripted
from support.servers import methods, received
from support.waiting import fail_after

SILENT = {"progress": [1], "silent": True}


async def stopped(calling: Coroutine[Any, Any, Any], moment: asyncio.Event) -> None:
    """Begin, wait for the moment, and stop waiting."""
    task = asyncio.create_task(calling)
    async with fail_after(10, "the moment to stop"):
        await moment.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class Moment(Arrived):
    """Progress as an event to wait for."""

    @property
    def event(self) -> asyncio.Event:
        return self._came


@pytest.mark.requirement("EXE-2")
async def test_the_server_is_told_which_request_and_why_and_the_event_says_aborted(tmp_path: Path, events: Events):
    log, arrived = tmp_path / "log", Moment()
    async with at_work(obeying(log), events=events) as session:
        await stopped(session.call("work_act", SILENT, on_progress=arrived), arrived.event)
        event = events.call
        good(await session.call("work_act"))

    assert bad(event.outcome, FailureKind.ABORTED).code == "BSC-703"
    (call, *_), (told,) = (
        [message for message in received(log) if message.get("method") == method]
        for method in ("tools/call", "notifications/cancelled")
    )
    assert told["params"] == {"requestId": call["id"], "reason": "the caller stopped waiting"}


@pytest.mark.requirement("EXE-2")
async def test_a_server_that_is_too_slow_is_told_as_well(tmp_path: Path):
    log = tmp_path / "log"
    async with at_work(obeying(log)) as session:
        bad(await session.call("work_act", {"silent": True}, timeout=0.2), FailureKind.TIMEOUT)
        good(await session.call("work_act"))

    assert methods(log)[-3:] == ["tools/call", "notifications/cancelled", "tools/call"]


@pytest.mark.requirement("EXE-2")
@pytest.mark.parametrize("how", ["cancelled", "too slow"])
async def test_in_the_new_era_a_server_behind_http_is_told_by_closing_the_response(how: str):
    calls: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()

    async def never_answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.message["method"] == "tools/call":
            calls.put_nowait(writer)
        else:
            await answer_over_http(asked, writer)

    async with raw_server(never_answer) as server:
        config = ServerConfig("work", StreamableHttpTransport(server.url))
        async with at_work(config) as session:
            calling = asyncio.create_task(session.call("work_act", timeout=0.5 if how == "too slow" else 10))
            connection = await calls.get()
            if how == "cancelled":
                calling.cancel()
            (ended,) = await asyncio.gather(calling, return_exceptions=True)
            await server.ended.get()
            assert connection.transport.is_closing()

    if how == "cancelled":
        assert isinstance(ended, asyncio.CancelledError)
    else:
        assert isinstance(ended, ToolFailure)
        assert ended.kind is FailureKind.TIMEOUT
    assert "notifications/cancelled" not in [asked.message["method"] for asked in server.asked]


@pytest.mark.requirement("EXE-2")
async def test_a_call_that_still_waits_for_its_server_to_start_sends_nothing(tmp_path: Path, events: Events):
    connecting = asyncio.Event()

    class Watch(Events):
        def append(self, event: Any) -> None:
            super().append(event)
            if isinstance(event, LinkChanged) and event.state == "connecting":
                connecting.set()

    log, watch = tmp_path / "log", Watch()
    async with at_work(obeying(log), events=watch) as session:
        await stopped(session.call("work_act", {"unwanted": True}), connecting)
        good(await session.call("work_act", {"wanted": True}))

    assert [call["arguments"] for call in calls_in(log)] == [{"wanted": True}]
    assert "notifications/cancelled" not in methods(log)
    bad(watch.calls[0].outcome, FailureKind.ABORTED)


@pytest.mark.requirement("EXE-2")
async def test_a_call_whose_person_is_being_asked_goes_no_further(tmp_path: Path, events: Events):
    asked, left_in_peace = asyncio.Event(), asyncio.Event()

    async def think(_: Elicitation) -> Decline:
        asked.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            left_in_peace.set()
        return Decline()

    rounds = {"tools/call": [required("s", q=ELICIT), DONE]}
    async with at_work(offering(tmp_path, scenario=rounds), events=events, on_elicit=think) as session:
        await stopped(session.call("work_act"), asked)
        assert left_in_peace.is_set()
        good(await session.call("work_act"))

    first, second = calls_in(log_of(tmp_path))
    assert "inputResponses" not in first
    assert "inputResponses" not in second
    bad(events.calls[0].outcome, FailureKind.ABORTED)


@pytest.mark.requirement("EXE-2")
async def test_a_handshake_is_never_cancelled(tmp_path: Path):
    refuses: list[dict[str, Any]] = [{"error": {"code": -32601, "message": "Method not found"}}]
    life: dict[str, Any] = {"server/discover": refuses, "initialize": [{}]}
    limits = Timeouts(connect=0.5, probe=0.3, close=1)
    async with at_work(scripted(tmp_path, life, timeouts=limits)) as session:
        bad(await session.call("work_act"), FailureKind.CONNECTION_ERROR)

    assert methods(log_of(tmp_path)) == ["server/discover", "initialize"]


@pytest.mark.requirement("EXE-2")
async def test_a_server_that_is_too_slow_to_read_a_resource_is_told(tmp_path: Path, events: Events):
    silent: dict[str, Any] = {"resources/read": [{}]}
    async with at_work(offering(tmp_path, uris=("a://1",), scenario=silent), events=events) as session:
        bad(await session.read("a://1", timeout=0.3), FailureKind.TIMEOUT)
        good(await session.call("work_act"))

    assert methods(log_of(tmp_path))[-3:] == ["resources/read", "notifications/cancelled", "tools/call"]
