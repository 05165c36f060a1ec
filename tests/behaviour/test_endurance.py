"""Links that last: watched, brought back, shared or not, and never too many."""

import asyncio
import gc
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession
from bascule.config import Heartbeat, Restart, Timeouts
from bascule.core.events import LinkChanged
from bascule.core.outcome import FailureKind
from support.runtime import Arrived, Events, at_work, bad, good, obeying, running
from support.servers import methods, pids

LIMITS = Timeouts(connect=15, reconnect=15, probe=10, list=10, call=30, close=0.5)
BEAT = Heartbeat(interval=0.3, stale_after=0.9)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "received"


class Seen(Events):
    """Events, and a way to wait for some of them."""

    def __init__(self) -> None:
        super().__init__()
        self._more = asyncio.Event()

    def append(self, event: Any) -> None:
        super().append(event)
        self._more.set()

    def states(self, server: str = "work") -> list[str]:
        return [event.state for event in self if isinstance(event, LinkChanged) and event.server == server]

    async def until(self, *states: str) -> None:
        """Wait until the latest states of the server are these."""
        while self.states()[-len(states) :] != [*states]:
            self._more.clear()
            await self._more.wait()


async def pid_of(session: AgentSession, tool: str = "work_act") -> int:
    return int(good(await session.call(tool, {"pid": True})).text)


@pytest.mark.requirement("LNK-5")
async def test_a_server_that_was_stopped_is_noticed_and_replaced(log: Path):
    events = Seen()
    server = obeying(log, heartbeat=BEAT, restart=Restart(backoff=0.1), timeouts=LIMITS)
    async with at_work(server, events=events) as session:
        good(await session.call("work_act"))
        (stopped,) = pids(log)
        os.kill(stopped, signal.SIGSTOP)
        await events.until("ready", "failed", "connecting", "ready")

        assert len(pids(log)) == 2
        reason = next(event.reason for event in events if isinstance(event, LinkChanged) and event.state == "failed")
        assert "silent for" in reason
        good(await session.call("work_act"))


@pytest.mark.requirement("LNK-5")
async def test_a_long_call_on_a_server_that_does_one_thing_at_a_time_is_left_alone(log: Path):
    async with at_work(obeying(log, heartbeat=BEAT, timeouts=LIMITS)) as session:
        good(await session.call("work_act", {"sleep": 3}))

        assert len(pids(log)) == 1
        assert methods(log).count("server/discover") == 1


@pytest.mark.requirement("LNK-5")
async def test_a_link_that_is_used_is_not_asked_whether_it_lives(log: Path):
    async with at_work(obeying(log, heartbeat=Heartbeat(interval=5, stale_after=15), timeouts=LIMITS)) as session:
        for _ in range(50):
            good(await session.call("work_act"))

    assert methods(log).count("server/discover") == 1


@pytest.mark.requirement("LNK-6")
async def test_a_death_fails_what_is_pending_at_once_and_the_server_comes_back_by_itself(log: Path):
    events = Seen()
    async with at_work(obeying(log, restart=Restart(backoff=0.1)), events=events) as session:
        arrived = Arrived()
        pending = asyncio.create_task(session.call("work_act", {"sleep": 20, "progress": [1]}, on_progress=arrived))
        await arrived.wait()
        os.kill(pids(log)[0], signal.SIGKILL)
        failure = bad(await pending, FailureKind.CONNECTION_ERROR)
        assert failure.retriable
        assert "signal 9" in failure.message
        await events.until("ready", "failed", "connecting", "ready")

        assert len(pids(log)) == 2


@pytest.mark.requirement("LNK-6")
async def test_one_that_does_not_come_back_is_given_up_until_someone_asks(log: Path):
    events = Seen()
    async with at_work(obeying(log, restart=Restart(attempts=2, backoff=0.05)), events=events) as session:
        good(await session.call("work_act"))
        (first,) = pids(log)
        aside = log.rename(log.with_name("aside"))
        log.mkdir()  # where it would write: it cannot start
        os.kill(first, signal.SIGKILL)
        await events.until("failed", "connecting", "failed", "connecting", "failed")
        bad(await session.call("work_act"), FailureKind.CONNECTION_ERROR)
        log.rmdir()

        good(await session.call("work_act"))
        assert aside.exists()


@pytest.mark.requirement("LNK-8")
async def test_two_principals_on_one_server_never_have_the_same_process(log: Path):
    async with running(obeying(log)) as runtime:
        alice, bob = runtime.session("alice", "s-1"), runtime.session("bob", "s-1")
        served = {await pid_of(alice) for _ in range(5)}, {await pid_of(bob) for _ in range(5)}

    assert [len(processes) for processes in served] == [1, 1]
    assert served[0].isdisjoint(served[1])


@pytest.mark.requirement("LNK-8")
async def test_never_more_links_than_may_be_and_everyone_has_a_turn(log: Path):
    running_at_once: list[int] = []
    served: set[int] = set()
    async with running(obeying(log), links_max=2) as runtime:

        async def one(number: int) -> None:
            session = runtime.session(f"user{number}", "s")
            served.add(await pid_of(session))
            links = [link for link in session._roster.links.links() if link.usable]
            running_at_once.append(len(links))

        await asyncio.gather(*(one(number) for number in range(6)))

    assert max(running_at_once) <= 2
    assert len(served) == 6


@pytest.mark.requirement("LNK-8")
async def test_ended_links_keep_no_connection_in_memory(log: Path):
    """The pool reports ended links for as long as their agent sessions are in memory."""
    async with running(obeying(log), links_max=2) as runtime:
        for number in range(6):
            good(await runtime.session(f"user{number}", "s").call("work_act"))
        links = runtime.oversight.links()
        ended = [link for link in links if link.ended]
        gc.collect()
        kept = [each for each in gc.get_objects() if type(each).__name__ == "StdioDispatcher"]

    assert len(links) == 6
    assert len(kept) <= len(links) - len(ended) <= 2
    assert {link.kind for link in ended} == {"stdio"}


@pytest.mark.requirement("LNK-8")
async def test_waiting_too_long_for_a_place_is_told_as_such(log: Path):
    limits = Timeouts(connect=15, reconnect=0.5, probe=10, close=0.5)
    async with running(obeying(log, timeouts=limits), links_max=1) as runtime:
        arrived = Arrived()
        busy = asyncio.create_task(
            runtime.session("alice", "s").call("work_act", {"sleep": 20, "progress": [1]}, on_progress=arrived)
        )
        await arrived.wait()
        failure = bad(await runtime.session("bob", "s").call("work_act"), FailureKind.UNAVAILABLE)
        busy.cancel()

    assert (failure.code, failure.retriable) == ("BSC-500", True)
    assert "`links.max`" in failure.fix


@pytest.mark.requirement("LNK-11")
async def test_a_link_for_one_call_is_a_fresh_process_each_time(log: Path):
    async with at_work(obeying(log, lifetime="call")) as session:
        served = {await pid_of(session) for _ in range(3)}

    assert len(served) == 3


@pytest.mark.requirement("LNK-11")
async def test_a_link_for_an_agent_session_is_kept(log: Path):
    async with at_work(obeying(log)) as session:
        assert len({await pid_of(session) for _ in range(3)}) == 1


@pytest.mark.requirement("LNK-11")
async def test_a_stateless_server_may_be_shared_by_everyone(log: Path):
    async with running(obeying(log, lifetime="shared", stateless=True)) as runtime:
        sessions = [runtime.session(user, "s") for user in ("alice", "bob", "bascule")]
        served = {await pid_of(session) for session in sessions}
        assert [tool.name for tool in await sessions[1].tools()] == ["work_act"]
        await sessions[0].close()  # the others go on
        assert await pid_of(sessions[1]) in served

    assert len(served) == 1
