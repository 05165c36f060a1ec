"""The heartbeat of a real link, on a clock that jumps."""

import asyncio
from dataclasses import replace

import pytest

from bascule.core.errors import ConnectionLost, ReplyTimeout
from bascule.core.request import Request
from bascule.upstream.link import Link
from bascule.upstream.state import LinkState
from support.links import a_link, a_plan
from support.puppets import Strings
from support.streams import Leave
from support.virtual_time import in_virtual_time


async def opened(strings: Strings) -> Link:
    link = a_link(a_plan(strings.dial, interval=30.0, stale_after=90.0))
    link.start()
    await link.opened()
    return link


def beats(strings: Strings) -> list[str]:
    """Without the questions of opening."""
    return [method for method in strings.asked if method in {"ping", "server/discover"}][1:]


def call(timeout: float) -> Request:
    return Request("tools/call", {"name": "act"}, timeout)


@pytest.mark.parametrize(("era", "method"), [("old", "ping"), ("new", "server/discover")])
def test_an_idle_link_is_asked_in_the_words_of_its_era(era: str, method: str):
    async def body() -> None:
        strings = Strings(era)
        link = await opened(strings)
        await asyncio.sleep(3600)

        assert beats(strings) == [method] * len(beats(strings))
        assert 115 <= len(beats(strings)) <= 120
        assert link.usable
        await link.close()

    in_virtual_time(body())


def test_none_is_sent_while_traffic_proves_life():
    async def body() -> None:
        strings = Strings()
        link = await opened(strings)
        for _ in range(200):
            await link.send(call(30))
            await asyncio.sleep(29)

        assert beats(strings) == []
        await link.close()

    in_virtual_time(body())


def test_one_that_was_stopped_is_noticed_within_its_limit_and_one_interval():
    async def body() -> None:
        strings = Strings()
        link = await opened(strings)
        await asyncio.sleep(1000)
        heard = asyncio.get_running_loop().time()
        strings.connections[0].goes_on.clear()
        while link.usable:  # noqa: ASYNC110 -- a clock that jumps
            await asyncio.sleep(0.5)
        noticed = asyncio.get_running_loop().time() - heard

        assert 60 <= noticed <= 120
        assert link.condition.state is LinkState.FAILED
        assert "silent for" in link.condition.reason
        await link.close()

    in_virtual_time(body())


def test_a_long_call_on_a_server_that_does_one_thing_at_a_time_is_not_killed():
    async def body() -> None:
        strings = Strings(delay=5000)
        link = await opened(strings)
        assert await link.send(call(6000)) == {"content": []}

        assert link.usable
        assert beats(strings) == []
        await link.close()

    in_virtual_time(body())


def test_nor_is_it_for_the_short_calls_behind_it():
    async def body() -> None:
        strings = Strings(delay=1000)
        link = await opened(strings)
        long = asyncio.ensure_future(link.send(call(6000)))
        await asyncio.sleep(1)
        with pytest.raises(ReplyTimeout):
            await link.send(call(30))
        await asyncio.sleep(300)

        assert link.usable
        assert await long == {"content": []}
        await link.close()

    in_virtual_time(body())


def test_short_calls_one_after_another_do_not_hide_that_it_was_stopped():
    async def body() -> None:
        strings = Strings()
        link = await opened(strings)
        loop = asyncio.get_running_loop()
        strings.connections[0].goes_on.clear()
        stopped, ended = loop.time(), 0.0
        while not ended:
            try:
                await link.send(call(20))
            except ReplyTimeout:
                continue
            except ConnectionLost:
                ended = loop.time()

        assert ended - stopped <= 120
        await link.close()

    in_virtual_time(body())


def test_one_that_goes_on_in_time_is_kept():
    async def body() -> None:
        strings = Strings()
        link = await opened(strings)
        for _ in range(5):
            strings.connections[0].goes_on.clear()
            await asyncio.sleep(55)
            strings.connections[0].goes_on.set()
            await asyncio.sleep(40)

        assert link.usable
        assert len(strings.connections) == 1
        await link.close()

    in_virtual_time(body())


def test_closing_ends_the_heartbeat():
    async def body() -> set[str]:
        strings = Strings()
        link = await opened(strings)
        strings.connections[0].goes_on.clear()
        await asyncio.sleep(45)
        await link.close()
        return {task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()}

    assert in_virtual_time(body()) == set()


def test_without_leave_no_beat_is_a_sign_of_death_and_with_it_again_they_go_on():
    async def body() -> None:
        strings, leave = Strings(), Leave()
        link = a_link(replace(a_plan(strings.dial, interval=30.0, stale_after=90.0), leave=leave))
        link.start()
        await link.opened()
        leave.given = False
        await asyncio.sleep(3600)
        assert beats(strings) == []
        assert link.usable

        leave.given = True
        await asyncio.sleep(60)
        assert beats(strings)
        strings.connections[0].goes_on.clear()
        await asyncio.sleep(180)
        assert not link.usable
        await link.close()

    in_virtual_time(body())
