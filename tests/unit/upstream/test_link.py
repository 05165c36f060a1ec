"""Links: opening, closing, state changes and their events."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import BasculeError, ConnectFailed, ConnectionLost, LoginNeeded, ReplyTimeout
from bascule.core.events import LinkChanged
from bascule.core.json_types import JsonObject
from bascule.core.request import Request
from bascule.core.sensitivity import Lane
from bascule.sandbox.process.child import Command
from bascule.transports.dispatcher import Dispatcher
from bascule.transports.process.stdio import StdioDispatcher
from bascule.upstream.link import Announcer, Link
from bascule.upstream.start_limiter import StartGate
from bascule.upstream.state import Condition, LinkState, failed
from bascule.wire.request_meta import NEW_VERSIONS, OLD_VERSIONS, VERSION_KEY
from support.children import children
from support.links import BOB, Journal, a_key, a_link, a_plan, linked
from support.processes import ended
from support.servers import command, methods, pids, received, stdio
from support.streams import Loopback, a_request
from support.waiting import fail_after

CALL = a_request(params={"name": "echo", "arguments": {"message": "hello"}}, timeout=10.0)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "received"


class Instant(Loopback):
    """A server of the new era that answers in the step in which it is asked."""

    def evidence(self) -> str:
        return "stderr"

    async def send(self, request: Request) -> JsonObject:
        return {"supportedVersions": list(NEW_VERSIONS), "capabilities": {}}


class Heard(StdioDispatcher):
    """Is open once the server has said something on stderr, however long it takes to start."""

    async def open(self) -> None:
        self.spoke = asyncio.Event()
        await super().open()
        await self.spoke.wait()

    def said(self, data: bytes) -> None:
        super().said(data)
        self.spoke.set()


async def failure(link: Link) -> BasculeError:
    """Why a link did not open; afterwards nothing of it is left."""
    with pytest.raises(BasculeError) as caught:
        await link.opened()
    assert link.condition.error is caught.value
    await link.close()
    return caught.value


# Opening


@pytest.mark.parametrize(("server", "version"), [("new", NEW_VERSIONS[-1]), ("old", OLD_VERSIONS[-1])])
async def test_a_link_opens_with_a_server_of_either_era_and_carries_calls(server: str, version: str):
    async with linked(server) as link:
        await link.opened()
        assert (link.condition.state, link.usable) == (LinkState.READY, True)
        assert link.agreement is not None
        assert link.agreement.version == link.stamp.version == version

        assert (await link.send(CALL))["content"][0]["text"] == "hello"


async def test_every_request_of_the_new_era_carries_its_envelope_and_each_a_trace_of_its_own(log: Path):
    async with linked("new", "--log", log) as link:
        await link.opened()
        await link.send(CALL)
        await link.send(CALL)

    metas = [message["params"]["_meta"] for message in received(log) if message["method"] == "tools/call"]
    assert [meta[VERSION_KEY] for meta in metas] == [NEW_VERSIONS[-1]] * 2
    assert len({meta["traceparent"] for meta in metas}) == 2


async def test_a_request_of_the_old_era_carries_the_trace_alone(log: Path):
    async with linked("old", "--log", log) as link:
        await link.opened()
        await link.send(CALL)

    assert received(log)[-1]["params"]["_meta"].keys() == {"traceparent"}


async def test_the_states_are_told_in_order():
    journal = Journal()
    link = a_link(a_plan(lambda: stdio("echo")), journal)
    assert link.condition.state is LinkState.CONFIGURED
    async with fail_after(20):
        link.start()
        await link.opened()
        await link.close()

    assert journal.states == ["connecting", "ready", "closed"]
    assert link.ended


async def test_a_server_that_dies_of_the_question_is_made_anew_once_and_works(log: Path):
    async with linked("old", "--unknown", "die", "--log", log, probe=0.05) as link:
        await link.opened()
        assert (await link.send(CALL))["content"][0]["text"] == "hello"
        first, second = pids(log)
        await ended(first)

        assert first != second
        assert methods(log)[:3] == ["server/discover", "initialize", "initialize"]


async def test_a_server_that_cannot_start_is_told_with_its_exit_code_and_its_words():
    journal = Journal()
    link = a_link(a_plan(lambda: stdio("failing", 3, "no API key")), journal)
    async with fail_after(20):
        link.start()
        error = await failure(link)

    assert isinstance(error, ConnectFailed)
    assert error.message == "the server exited with code 3"
    assert error.evidence == "no API key"
    assert error.fix
    assert journal.states == ["connecting", "failed"]
    assert journal.reasons[-1] == error.message


async def test_a_command_that_is_not_there_is_told_with_its_fix():
    link = a_link(a_plan(lambda: StdioDispatcher(Command(["no-such-server"], {"PATH": "/bin"}), max_message=1000)))
    async with fail_after(20):
        link.start()
        error = await failure(link)

    assert error.message == "command not found: no-such-server"
    assert "install" in error.fix


async def test_a_server_that_never_answers_is_given_up_with_what_it_said():
    before = children()
    link = a_link(
        a_plan(lambda: Heard(command("mute", "waiting for Godot"), max_message=1000), connect=0.1, probe=0.05)
    )
    async with fail_after(20):
        link.start()
        error = await failure(link)

    assert isinstance(error, ConnectFailed)
    assert error.message == "the server did not answer within 0.1 s"
    assert error.evidence == "waiting for Godot"
    assert "timeouts.connect" in error.fix
    assert children() == before


async def test_a_start_that_is_not_the_first_has_its_own_limit():
    link = a_link(a_plan(lambda: stdio("mute", ""), reconnect=0.1))
    link.first_start = False
    async with fail_after(20):
        link.start()

        assert (await failure(link)).message == "the server did not answer within 0.1 s"


async def test_waiting_for_a_turn_to_start_is_not_counted_against_the_server():
    gate = StartGate(1)
    link = Link(a_plan(Instant, connect=0.05), gate, "auto", lambda _: None)
    async with fail_after(20):
        async with gate.turn() as started:
            busy = Loopback()
            started(busy)
            link.start()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(link.opened(), 0.07)
        busy.lose(ConnectionLost("gone"))
        await link.opened()
        await link.close()


async def test_a_server_that_wants_a_login_is_told_apart_from_a_failed_one():
    class Guarded(Instant):
        async def open(self) -> None:
            raise LoginNeeded("who are you", evidence="HTTP 401")

    link = a_link(a_plan(Guarded))
    async with fail_after(20):
        link.start()
        error = await failure(link)

    assert isinstance(error, LoginNeeded)
    assert link.condition.state is LinkState.NEEDS_AUTH
    assert error.evidence == "HTTP 401\nstderr"


# Admission


async def test_a_link_is_ready_only_when_it_was_admitted():
    seen: list[Any] = []

    async def admit(link: Link) -> str:
        listed = await link.send(a_request("tools/list", 10.0))
        seen.append((link.condition.state, [tool["name"] for tool in listed["tools"]]))
        return ""

    async with linked("echo", admit=admit) as link:
        await link.opened()

    assert seen == [(LinkState.CONNECTING, ["echo"])]


async def test_a_shortcoming_found_at_admission_degrades_the_link():
    async def admit(_: Link) -> str:
        return "2 of 3 tools are left out"

    async with linked("echo", admit=admit) as link:
        await link.opened()

        assert (link.condition.state, link.usable) == (LinkState.DEGRADED, True)
        assert link.condition.reason == "2 of 3 tools are left out"


async def test_a_refused_admission_fails_the_link_and_ends_the_server():
    before = children()

    async def admit(_: Link) -> str:
        raise ReplyTimeout("no list", phase="list", timeout=1.0)

    async with linked("echo", admit=admit) as link:
        error = await failure(link)

        assert isinstance(error, ConnectFailed)
        assert (error.message, error.where) == ("no list", "list")
        assert link.condition.state is LinkState.FAILED
        assert not link.usable
        assert children() == before


async def test_a_bug_at_admission_reaches_who_waits_and_nothing_hangs():
    # Told by the loop as well, once the owner's task is gone; here nobody needs to read it.
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    before = children()

    async def admit(_: Link) -> str:
        raise ZeroDivisionError("ours")

    async with linked("echo", admit=admit) as link:
        with pytest.raises(ZeroDivisionError):
            await link.opened()
        await link.close()

        assert link.ended
        assert not link.usable
        assert children() == before


# Closing


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13, 30])
async def test_a_link_can_be_closed_at_any_step_of_its_opening(steps: int):
    before = children()
    async with linked("mute", "") as link:
        for _ in range(steps):
            await asyncio.sleep(0)
        await link.close()

        assert link.condition.state is LinkState.CLOSED
        assert children() == before
        with pytest.raises(ConnectFailed, match="closed before it was ready"):
            await link.opened()


async def test_a_link_closed_before_it_was_started_never_opens():
    journal = Journal()
    link = a_link(a_plan(lambda: stdio("echo")), journal)
    async with fail_after(20):
        await link.close()
        link.start()
        with pytest.raises(ConnectFailed):
            await link.opened()
        await link.close()

    assert "ready" not in journal.states
    assert journal.states[-1] == "closed"


async def test_who_waits_is_told_of_a_failure_before_a_stubborn_server_is_gone(log: Path):
    async with linked("deaf", log, era="old", connect=0.05, close=1.0) as link:
        with pytest.raises(ConnectFailed):
            await link.opened()

        assert not link.ended


async def test_closing_twice_and_from_several_tasks_is_one_end():
    journal = Journal()
    link = a_link(a_plan(lambda: stdio("echo")), journal)
    async with fail_after(20):
        link.start()
        await link.opened()
        await asyncio.gather(*(link.close() for _ in range(3)))
        await link.close()

    assert journal.states.count("closed") == 1


async def test_a_closed_link_sends_nothing():
    async with linked("echo") as link:
        await link.opened()
        await link.close()

        with pytest.raises(ConnectionLost) as caught:
            await link.send(CALL)
        assert not caught.value.sent


async def test_a_link_that_never_started_sends_nothing():
    link = a_link(a_plan(Instant))

    with pytest.raises(ConnectionLost) as caught:
        await link.send(CALL)
    assert not caught.value.sent
    assert (link.evidence(), link.counters.garbage) == ("", 0)


async def test_a_caller_who_stops_waiting_does_not_harm_the_link():
    async with linked("echo") as link:
        impatient = [asyncio.create_task(link.opened()) for _ in range(3)]
        await asyncio.sleep(0)
        for task in impatient:
            task.cancel()
        await link.opened()

        assert link.usable


# Dying


async def test_a_death_is_noticed_told_and_cleaned_up(log: Path):
    journal = Journal()
    before = children()
    link = a_link(a_plan(lambda: stdio("old", "--log", log)), journal)
    async with fail_after(20):
        link.start()
        await link.opened()
        os.kill(pids(log)[0], signal.SIGKILL)
        assert link._owner is not None
        await asyncio.wait((link._owner,))

    assert journal.states == ["connecting", "ready", "failed"]
    assert journal.reasons[-1] == "the server was ended by signal 9"
    assert children() == before


async def test_a_dead_link_is_not_usable_from_the_very_moment():
    dispatcher = Instant()
    link = a_link(a_plan(lambda: dispatcher))
    async with fail_after(20):
        link.start()
        await link.opened()
        assert link.usable
        dispatcher.lose(ConnectionLost("gone"))
        assert link.condition.state is LinkState.READY
        assert not link.usable
        await link.close()


async def test_a_call_in_flight_at_death_fails_and_says_it_was_sent():
    async with linked("old") as link:
        await link.opened()
        with pytest.raises(ConnectionLost) as caught:
            await link.send(a_request("tools/call", 10.0, params={"arguments": {}}))

        assert caught.value.sent
        assert "KeyError" in caught.value.evidence


def announced(told: list[LinkChanged], dial: Callable[[], Dispatcher] = Loopback) -> Link:
    plan = a_plan(dial, a_key("files", Lane.PROXIED, BOB))
    return Link(plan, StartGate(1), "auto", Announcer(told.append, lambda: 7.0))


async def test_an_event_says_which_link_is_how_and_since_when():
    told: list[LinkChanged] = []
    link = announced(told)
    link.condition = failed(ConnectFailed("no API key"))
    Announcer(told.append, lambda: 8.0)(link)

    assert told == [LinkChanged("files", Lane.PROXIED, BOB, LinkState.FAILED, "no API key", 8.0, "BSC-401")]


async def test_the_whole_life_of_a_link_is_told():
    told: list[LinkChanged] = []
    link = announced(told, lambda: stdio("echo"))
    assert (link.condition, told) == (Condition(LinkState.CONFIGURED), [])
    async with fail_after(20):
        link.start()
        await link.opened()
        await link.close()

    assert [event.state for event in told] == ["connecting", "ready", "closed"]
    assert {(event.server, event.lane, event.principal, event.at) for event in told} == {
        ("files", Lane.PROXIED, BOB, 7.0)
    }


async def test_who_wants_the_link_itself_is_given_it_after_the_event():
    told: list[object] = []
    link = announced([])
    Announcer(told.append, lambda: 8.0, told.append)(link)
    await asyncio.sleep(0)
    assert told[1:] == [link]


async def test_of_a_link_that_has_ended_it_is_told_how_long_it_was_of_use():
    told: list[LinkChanged] = []
    link = announced(told, lambda: stdio("echo"))
    async with fail_after(20):
        link.start()
        await link.opened()
        await link.close()
    assert [event.lived is not None and event.lived > 0 for event in told] == [False, False, True]
    assert told[1].lived is None
