"""Every change of a link's state becomes an event."""

import asyncio
from collections.abc import Callable

from bascule.core.errors import ConnectFailed
from bascule.core.events import LinkChanged
from bascule.core.sensitivity import Lane
from bascule.transports.dispatcher import Dispatcher
from bascule.upstream.link import Announcer, Link
from bascule.upstream.start_limiter import StartGate
from bascule.upstream.state import Condition, LinkState, failed
from support.links import BOB, a_key, a_plan
from support.servers import stdio
from support.streams import Loopback
from support.waiting import fail_after


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
