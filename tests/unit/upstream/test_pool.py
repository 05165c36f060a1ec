"""Links by key: lent, shared, bounded, brought back, ended."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import BasculeError, ConnectFailed, ConnectionLost
from bascule.core.sensitivity import Lane
from bascule.transports.http.dispatcher import HttpDispatcher
from bascule.transports.http.legacy_sse import SseDispatcher
from bascule.transports.process.stdio import StdioDispatcher
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link, LinkPlan
from bascule.upstream.pool import Pool
from bascule.upstream.state import LinkState
from support.children import children
from support.http_servers import http_reply
from support.links import ALICE, BOB, Journal, a_key, a_plan
from support.servers import CAP, methods, pids, received, stdio
from support.sse_servers import SsePeer, working_peer
from support.streams import a_request
from support.waiting import fail_after

KEY = a_key()
Plans = Callable[[LinkKey], LinkPlan]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "received"


@asynccontextmanager
async def pool_of(plans: Plans, journal: Journal | None = None, most: int = 100) -> AsyncGenerator[Pool]:
    async with fail_after(20, "the life of a pool"):
        pool = Pool(plans, (journal or Journal()).note, most=most, starting=8)
        try:
            yield pool
        finally:
            await pool.close()


def old(log: Path, *args: object, **terms: Any) -> Plans:
    """Links to servers that write down their pids."""
    return lambda key: a_plan(lambda: stdio("old", "--log", log, *args), key, **terms)


async def test_a_link_is_opened_on_first_need_and_kept(log: Path):
    async with pool_of(old(log)) as pool:
        assert pool.borrow(KEY) is None
        assert pool.find(KEY) is None
        assert not list(pool.links())

        link = await pool.lease(KEY)

        assert await pool.lease(KEY) is link
        assert pool.borrow(KEY) is pool.find(KEY) is link
        assert list(pool.links()) == [link]
        assert len(pids(log)) == 1


async def test_many_who_ask_at_once_share_one_process(log: Path):
    async with pool_of(old(log)) as pool:
        links = await asyncio.gather(*(pool.lease(KEY) for _ in range(20)))

        assert len(set(map(id, links))) == 1
        assert len(pids(log)) == 1


@pytest.mark.parametrize("other", [a_key(principal=BOB), a_key(lane=Lane.SEALED)], ids=["principal", "lane"])
async def test_another_principal_or_lane_is_another_process(log: Path, other: LinkKey):
    async with pool_of(old(log)) as pool:
        first, second = await asyncio.gather(pool.lease(KEY), pool.lease(other))

        assert first is not second
        assert len(set(pids(log))) == 2


async def test_one_who_stops_waiting_does_not_harm_the_others(log: Path):
    async with pool_of(old(log)) as pool:
        impatient, patient = (asyncio.create_task(pool.lease(KEY)) for _ in range(2))
        await asyncio.sleep(0)
        impatient.cancel()

        assert (await patient).usable
        assert len(pids(log)) == 1


async def test_after_a_death_the_next_who_asks_gets_a_new_process(log: Path):
    async with pool_of(old(log)) as pool:
        first = await pool.lease(KEY)
        os.kill(pids(log)[0], signal.SIGKILL)
        with pytest.raises(ConnectionLost):
            await first.send(a_request("ping", 10.0))
        assert pool.borrow(KEY) is None

        second = await pool.lease(KEY)

        assert second is not first
        assert second.usable
        assert not second.first_start
        assert len(set(pids(log))) == 2


async def test_after_a_failure_the_next_who_asks_tries_again():
    servers = ["failing", "echo"]

    def dial() -> StdioDispatcher:
        name = servers[0]
        return stdio(name, *((3, "no API key") if name == "failing" else ()))

    async with pool_of(lambda key: a_plan(dial, key, era="new")) as pool:
        with pytest.raises(ConnectFailed):
            await pool.lease(KEY)
        servers.pop(0)

        assert (await pool.lease(KEY)).usable


async def test_all_who_wait_are_told_of_a_failure():
    async with pool_of(lambda key: a_plan(lambda: stdio("failing", 3, "no API key"), key)) as pool:
        waiting = [asyncio.create_task(pool.lease(KEY)) for _ in range(3)]
        for task in waiting:
            with pytest.raises(ConnectFailed, match="exited with code 3"):
                await task


async def test_one_bad_server_does_not_delay_another(log: Path):
    def plan(key: LinkKey) -> LinkPlan:
        return a_plan(lambda: stdio("mute", "") if key.server == "bad" else stdio("old", "--log", log), key)

    async with pool_of(plan) as pool:
        bad = asyncio.create_task(pool.lease(a_key("bad")))
        good = await pool.lease(a_key("good"))

        assert good.usable
        assert not bad.done()
        bad.cancel()


async def test_a_server_that_died_of_the_question_is_remembered(log: Path):
    async with pool_of(old(log, "--unknown", "die", probe=0.05)) as pool:
        await pool.lease(KEY)
        assert methods(log)[:3] == ["server/discover", "initialize", "initialize"]
        assert len(pids(log)) == 2

        second = await pool.lease(a_key(principal=BOB))
        await second.send(a_request("ping", 10.0))

        assert len(pids(log)) == 3
        assert methods(log).count("server/discover") == 1


async def test_an_era_the_operator_named_is_not_forgotten_for_what_was_seen(log: Path):
    async with pool_of(old(log, era="old")) as pool:
        await pool.lease(KEY)
        await pool.lease(a_key(principal=BOB))

    assert "server/discover" not in methods(log)


async def test_a_server_of_the_new_era_is_asked_each_time(log: Path):
    async with pool_of(lambda key: a_plan(lambda: stdio("new", "--log", log), key)) as pool:
        await pool.lease(KEY)
        await pool.lease(a_key(principal=BOB))

    assert methods(log) == ["server/discover"] * 2


async def test_closing_some_links_leaves_the_others_and_the_pool_of(log: Path):
    async with pool_of(old(log)) as pool:
        mine, theirs = await asyncio.gather(pool.lease(KEY), pool.lease(a_key(principal=BOB)))
        await pool.close([KEY, a_key("never opened")])

        assert mine.condition.state is LinkState.CLOSED
        assert mine.ended
        assert theirs.usable
        assert (await pool.lease(KEY)).usable


async def test_closing_ends_everything(log: Path):
    before = children()
    async with pool_of(old(log)) as pool:
        links = [await pool.lease(a_key(principal=who)) for who in (ALICE, BOB)]
        opening = asyncio.create_task(pool.lease(a_key(lane=Lane.SEALED)))
        await asyncio.sleep(0)
        await pool.close()

        assert children() == before
        assert all(link.condition.state is LinkState.CLOSED for link in links)
        with pytest.raises(BasculeError):
            await opening


async def test_after_closing_nothing_is_opened(log: Path):
    async with pool_of(old(log)) as pool:
        await pool.lease(KEY)
        await pool.close()
        await pool.close()

        for key in (KEY, a_key(principal=BOB)):
            with pytest.raises(ConnectionLost, match="closed") as caught:
                await pool.lease(key)
            assert not caught.value.sent
        assert len(pids(log)) == 1


@pytest.mark.parametrize("keys", [None, [KEY]], ids=["all", "its key"])
async def test_closing_waits_for_a_dead_link_that_is_still_being_cleaned_up(keys: list[LinkKey] | None):
    """A server that closed its stdout but lives on, and a new one in its place."""
    before = children()
    async with pool_of(lambda key: a_plan(lambda: stdio("half_gone"), key, era="new")) as pool:
        first = await pool.lease(KEY)
        with pytest.raises(ConnectionLost):
            await first.send(a_request("leave", 10.0))
        second = await pool.lease(KEY)
        assert second.usable

        await pool.close(keys)

        assert first.ended
        assert children() == before


async def test_the_states_of_every_link_are_told(log: Path):
    journal = Journal()
    async with pool_of(old(log), journal) as pool:
        first = await pool.lease(KEY)
        os.kill(pids(log)[0], signal.SIGKILL)
        with pytest.raises(ConnectionLost):
            await first.send(a_request("ping", 10.0))
        await pool.lease(KEY)

    assert [state for state in journal.states if state != "failed"] == [
        "connecting",
        "ready",
        "connecting",
        "ready",
        "closed",
    ]
    assert "failed" in journal.states


async def test_links_learn_the_key_they_were_asked_for(log: Path):
    asked: list[LinkKey] = []

    def plan(key: LinkKey) -> LinkPlan:
        asked.append(key)
        return old(log)(key)

    async with pool_of(plan) as pool:
        link: Link = await pool.lease(KEY)

    assert set(asked) == {KEY}
    assert link.key == KEY
    assert received(log)


async def test_a_server_replaced_by_one_of_the_other_era_is_asked_anew(log: Path):
    servers = ["old", "new"]

    async with pool_of(lambda key: a_plan(lambda: stdio(servers[0], "--log", log), key)) as pool:
        first = await pool.lease(KEY)
        os.kill(pids(log)[-1], signal.SIGKILL)
        with pytest.raises(ConnectionLost):
            await first.send(a_request("ping", 10.0))
        servers.pop(0)
        # What was remembered misleads once, and nobody notices.
        link = await pool.lease(KEY)

        assert link.agreement is not None
        assert link.agreement.version == "2026-07-28"


# The older way


def by_url(peer: SsePeer) -> Plans:
    """As a config with a URL and no setting gives it."""

    def plan(key: LinkKey) -> LinkPlan:
        first = partial(HttpDispatcher, peer.url, {}, max_message=CAP, connect_timeout=10.0)
        older = partial(SseDispatcher, peer.url, {}, max_message=CAP, connect_timeout=10.0)
        return replace(a_plan(first, key), older=older)

    return plan


async def test_the_way_that_led_to_a_server_is_remembered():
    async with working_peer() as peer, pool_of(by_url(peer)) as pool:
        await pool.lease(KEY)
        tried = len(peer.server.asked)
        link = await pool.lease(a_key(principal=BOB))

        assert (link.kind, link.older_way) == ("sse", True)
        assert {asked.method for asked in peer.server.asked if asked.path == "/sse"} == {"POST", "GET"}
        assert [asked.method for asked in peer.server.asked[tried:] if asked.path == "/sse"] == ["GET"]


async def test_a_remembered_way_is_forgotten_when_it_fails():
    async with working_peer() as peer, pool_of(by_url(peer)) as pool:
        await pool.lease(KEY)
        works, peer.opening = peer.opening, http_reply(b"gone", "410 Gone", "text/plain")
        with pytest.raises(ConnectFailed, match="speaks neither"):
            await pool.lease(a_key(principal=BOB))
        peer.opening, tried = works, len(peer.server.asked)
        await pool.lease(a_key(principal=BOB))

        assert [asked.method for asked in peer.server.asked[tried:] if asked.path == "/sse"] == ["POST", "POST", "GET"]


async def test_a_link_is_not_lent_before_what_it_listed_was_taken_over(log: Path):
    async def admit(link: Link) -> str:
        link.listed = ["act"]
        return ""

    async with pool_of(old(log, admit=admit)) as pool:
        link = await pool.lease(KEY)
        assert pool.borrow(KEY) is None
        assert await pool.lease(KEY) is link
        link.listed = None
        assert pool.borrow(KEY) is link


# Giving servers up


async def test_links_to_a_server_that_is_given_up_end_at_once_and_the_next_is_a_first_one(log: Path, tmp_path: Path):
    journal, other = Journal(), a_key("other")
    plans = {"server": old(log), "other": old(tmp_path / "other")}
    async with pool_of(lambda key: plans[key.server](key), journal) as pool:
        links = [await pool.lease(key) for key in (KEY, a_key(principal=BOB), other)]
        assert pool._learned.keys() == {"server", "other"}
        retired = pool.retire({"server"}, "it was edited")

        assert retired == links[:2]
        assert pool.borrow(KEY) is pool.find(KEY) is None
        assert (await pool.lease(other)) is links[2]
        assert pool._learned.keys() == {"other"}
        await asyncio.gather(*(link.close() for link in retired))
        assert journal.reasons.count("it was edited") == 2
        assert (await pool.lease(KEY)).first_start


async def test_closing_all_waits_for_links_that_were_given_up(log: Path):
    before = children()
    async with pool_of(old(log)) as pool:
        await pool.lease(KEY)
        pool.retire({KEY.server}, "it was edited")
        await pool.close()

        assert children() == before


async def test_who_waits_for_a_link_that_is_given_up_is_told_why():
    async with pool_of(lambda key: a_plan(lambda: stdio("mute", "waiting"), key)) as pool:
        waiting = asyncio.create_task(pool.lease(KEY))
        await asyncio.sleep(0)
        pool.retire({KEY.server}, "it was edited")

        with pytest.raises(ConnectFailed, match="it was edited"):
            await waiting
        assert pool._learned == {}


async def test_what_a_link_has_shown_that_was_given_up_as_it_opened_is_not_kept(log: Path):
    async with pool_of(old(log)) as pool:
        waiting = asyncio.create_task(pool.lease(KEY))
        await asyncio.sleep(0)
        link = pool.find(KEY)
        assert link is not None
        link._opened.add_done_callback(lambda _: pool.retire({KEY.server}, "it was edited"))
        with pytest.raises(ConnectionLost, match="it was edited"):
            await waiting

        assert link.retired
        assert pool._learned == {}


async def test_of_a_link_that_has_ended_nothing_needs_to_be_kept(log: Path):
    async with pool_of(old(log)) as pool:
        link = await pool.lease(KEY)
        assert not pool.let_go({KEY})
        assert pool.find(KEY) is link
        pool.give_back(link)
        await pool.close([KEY])
        assert pool.let_go({KEY, a_key(principal=BOB)})
        assert pool.find(KEY) is None
        assert await pool.lease(KEY) is not link
