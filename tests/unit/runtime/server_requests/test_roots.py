"""Who hears that a client has other roots, and who answers then. Whole conversations are in tests/behaviour."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from bascule.core.client_features import Respondent, Root
from bascule.core.errors import ConnectionLost
from bascule.core.principal import Principal
from bascule.core.request import Permit
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.server_requests.parse import ELICIT, ROOTS
from bascule.runtime.server_requests.roots import ROOTS_CHANGED, SHORTEST_PAUSE, RootsNews
from bascule.runtime.session_context import Standing
from bascule.upstream.key import LinkKey
from bascule.wire.input_required import Question
from support.links import ALICE, BOB
from support.runtime import obeying, roster_of, running
from support.streams import Leave
from support.virtual_time import in_virtual_time
from support.waiting import until

ASKED = Question(ROOTS, {})


class AsLink:
    """As much of a link as this needs, and what was said on it."""

    def __init__(self, principal: Principal = ALICE, lane: Lane = Lane.OPEN) -> None:
        self.key = LinkKey("work", lane, principal)
        self.said: list[str] = []
        self.permits: list[Permit | None] = []
        self.lost = False

    async def notify(self, method: str, permit: Permit | None) -> None:
        if self.lost:
            raise ConnectionLost("gone")
        self.said.append(method)
        self.permits.append(permit)


def client(uri: str = "file:///a") -> Respondent:
    return Respondent(on_roots=lambda _: [Root(uri)])


@asynccontextmanager
async def scene(log: Path) -> AsyncGenerator[tuple[RootsNews, Standing]]:
    async with running(obeying(log)) as runtime:
        news = RootsNews()
        try:
            yield news, Standing(ALICE, roster_of(runtime))
        finally:
            await news.close()


async def test_only_servers_of_that_principal_that_were_told_of_roots_hear_it(log: Path):
    async with scene(log) as (news, standing):
        told, lost, untold, bobs = AsLink(), AsLink(), AsLink(), AsLink(BOB)
        lost.lost = True
        for link in (lost, told, bobs):
            news.told(link)
        news.changed(standing, client())
        await until(lambda: bool(told.said))
        assert (told.said, untold.said, bobs.said) == ([ROOTS_CHANGED], [], [])
        (permit,) = told.permits
        assert permit is not None
        standing.ratchet.hold(DataSensitivity.CONFIDENTIAL, "seen in a test")
        assert not permit.valid()


async def test_nothing_is_said_on_a_lane_that_is_closed(log: Path):
    async with scene(log) as (news, standing):
        wide, tight = AsLink(), AsLink(lane=Lane.SEALED)
        for link in (wide, tight):
            news.told(link)
        # Before anybody has ended the link.
        standing.ratchet.hold(DataSensitivity.CONFIDENTIAL, "seen in a test")
        news.changed(standing, client())
        await until(lambda: not news._telling)
        assert (wide.said, news.find(wide, ASKED)) == ([], None)


async def test_who_said_it_last_answers_for_roots_and_for_nothing_else(log: Path):
    async with scene(log) as (news, standing):
        link, first, second = AsLink(), client(), client("file:///b")
        assert news.find(link, ASKED) is None
        news.told(link)
        assert news.find(link, ASKED) is None
        news.changed(standing, first)
        await until(lambda: len(link.said) == 1)
        before = news.find(link, ASKED)
        assert before is not None
        open_question = asyncio.ensure_future(before.put("work", asyncio.sleep(60, {})))
        await asyncio.sleep(0)
        news.changed(standing, second)
        await until(lambda: len(link.said) == 2)
        found = news.find(link, ASKED)
        assert found is not None
        assert found.respondent is second
        assert news.find(link, Question(ELICIT, {})) is None
        # What the other was asked is of no use any more.
        await until(open_question.done)
        assert open_question.exception() is not None


class Anywhere:
    """Where Alice stands, if she may say everything everywhere."""

    principal = ALICE

    def permit_on(self, _key: LinkKey, _method: str) -> Permit:
        return Leave()


def test_what_is_said_ever_again_is_passed_on_ever_more_rarely():
    async def flood() -> int:
        news, link, standing = RootsNews(), AsLink(), cast("Standing", Anywhere())
        news.told(link)
        for _ in range(1000):
            news.changed(standing, client())
            await asyncio.sleep(0.01)
        await news.close()
        return len(link.said)

    assert 5 < in_virtual_time(flood()) < 15


def test_what_is_said_in_the_step_in_which_the_last_was_told_is_passed_on_as_well():
    async def last_words() -> int:
        news, link, standing = RootsNews(), AsLink(), cast("Standing", Anywhere())
        news.told(link)
        news.changed(standing, client())
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        # With the timer of the pause that has begun, and behind it: the telling ends one step later, and then this comes.
        loop.call_later(SHORTEST_PAUSE + 5e-10, loop.call_soon, news.changed, standing, client())
        await asyncio.sleep(1)
        await news.close()
        return len(link.said)

    assert in_virtual_time(last_words()) == 2


async def test_a_link_that_is_gone_is_forgotten(log: Path):
    async with scene(log) as (news, _):
        link = AsLink()
        news.told(link)
        del link
        assert not news._told
