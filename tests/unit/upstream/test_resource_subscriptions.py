"""Subscriptions on a link of the new era: one long request, made anew when more is wanted or it ends."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bascule.core.errors import ConnectionLost, PeerRefused, PermitLost, ReplyTimeout
from bascule.upstream import resource_subscriptions
from bascule.upstream.resource_subscriptions import ACKNOWLEDGED, LISTEN, UPDATED, Following
from support.streams import Leave, Loopback
from support.waiting import fail_after, until

ONE, TWO = "notes://1", "notes://2"
KEY = "io.modelcontextprotocol/subscriptionId"


class Followed:
    """A following, its peer, and what it told."""

    def __init__(self, permit: Leave | None = None) -> None:
        self.peer = Loopback()
        self.told: list[str] = []
        self.other: list[str] = []
        self.following = Following(
            self.peer.send, permit, self.told.append, lambda method, _: self.other.append(method)
        )

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [message for message in self.peer.sent if message["method"] == LISTEN]

    def wanted(self, number: int) -> list[str]:
        return self.asked[number]["params"]["notifications"]["resourceSubscriptions"]

    async def until_asked(self, count: int) -> None:
        await until(lambda: len(self.asked) >= count)

    def say(self, method: str, number: int = -1, **params: Any) -> None:
        meta = {KEY: self.asked[number]["id"]}
        self.peer.say({"jsonrpc": "2.0", "method": method, "params": {**params, "_meta": meta}})

    def agree(self, number: int = -1, uris: list[str] | None = None) -> None:
        kept = self.wanted(number) if uris is None else uris
        self.say(ACKNOWLEDGED, number, notifications={"resourceSubscriptions": kept})

    async def add(self, *uris: str) -> None:
        """The server agreeing at once."""
        count = len(self.asked)
        adding = asyncio.gather(*(self.following.add(uri, 10) for uri in uris))
        await self.until_asked(count + 1)
        self.agree()
        await adding


@asynccontextmanager
async def followed(permit: Leave | None = None) -> AsyncGenerator[Followed]:
    async with fail_after(20, "following resources"):
        made = Followed(permit)
        try:
            yield made
        finally:
            await made.following.end()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_subscriptions, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(resource_subscriptions, "LONGEST_WAIT", 0.04)


async def test_resources_wanted_together_are_one_request_and_each_change_is_told():
    async with followed() as link:
        await link.add(TWO, ONE)
        assert [link.wanted(0)] == [[ONE, TWO]]
        link.say(UPDATED, uri=ONE)
        link.say(UPDATED, uri=5)
        link.say("notifications/tools/list_changed")
        assert (link.told, link.other) == ([ONE], ["notifications/tools/list_changed"])


async def test_one_more_is_asked_for_before_the_earlier_request_ends():
    async with followed() as link:
        await link.add(ONE)
        adding = asyncio.ensure_future(link.following.add(TWO, 10))
        await link.until_asked(2)
        assert link.wanted(1) == [ONE, TWO]
        link.say(UPDATED, 0, uri=ONE)
        assert link.told == [ONE]
        link.agree(1)
        await adding
        cancelled = {"requestId": link.asked[0]["id"], "reason": "the caller stopped waiting"}
        await until(lambda: any(message.get("params") == cancelled for message in link.peer.sent))
        assert link.told == [ONE]


async def test_what_the_server_does_not_agree_to_is_not_subscribed_to():
    async with followed() as link:
        adding = asyncio.gather(link.following.add(ONE, 10), link.following.add(TWO, 10), return_exceptions=True)
        await link.until_asked(1)
        link.agree(uris=[TWO])
        one, two = await adding
        assert isinstance(one, PeerRefused)
        assert two is None


@pytest.mark.parametrize("honored", [None, {}, {"resourceSubscriptions": "all"}, {"resourceSubscriptions": [5]}])
async def test_a_server_that_agrees_to_nothing_has_agreed_to_nothing(honored: Any):
    async with followed() as link:
        adding = asyncio.ensure_future(link.following.add(ONE, 10))
        await link.until_asked(1)
        link.say(ACKNOWLEDGED, notifications=honored)
        with pytest.raises(PeerRefused):
            await adding
        assert link.following.idle


async def test_why_the_request_failed_is_told_to_who_waits():
    async with followed() as link:
        adding = asyncio.ensure_future(link.following.add(ONE, 10))
        await link.until_asked(1)
        link.peer.say({"jsonrpc": "2.0", "id": link.asked[0]["id"], "error": {"code": -32601, "message": "no"}})
        with pytest.raises(PeerRefused, match="no"):
            await adding
        assert link.following.idle


async def test_a_server_that_says_nothing_is_not_waited_for_for_ever():
    async with followed() as link:
        with pytest.raises(ReplyTimeout):
            await link.following.add(ONE, 0.01)
        assert link.following.idle


@pytest.mark.usefixtures("at_once")
async def test_a_request_that_ended_is_made_again_and_what_was_missed_counts_as_changed():
    async with followed() as link:
        await link.add(ONE)
        link.peer.answer(link.asked[0]["id"])
        await link.until_asked(2)
        assert not link.told
        link.agree()
        assert link.told == [ONE]


async def test_nothing_is_written_once_the_permit_is_gone():
    permit = Leave()
    async with followed(permit) as link:
        await link.add(ONE)
        permit.given = False
        with pytest.raises(PermitLost):
            await link.following.add(TWO, 10)
        assert len(link.asked) == 1


@pytest.mark.usefixtures("at_once")
async def test_a_request_that_ended_is_not_made_again_without_the_permit():
    permit = Leave()
    async with followed(permit) as link:
        await link.add(ONE)
        permit.given = False
        link.peer.answer(link.asked[0]["id"])
        keeping = link.following._keeping
        assert keeping is not None
        await keeping
        assert len(link.asked) == 1


async def test_who_wants_nothing_more_listens_no_more():
    async with followed() as link:
        await link.add(ONE, TWO)
        link.following.remove(ONE)
        assert not link.following.idle
        link.following.remove(TWO)
        await until(lambda: "notifications/cancelled" in [message["method"] for message in link.peer.sent])
        assert link.following.idle


async def test_who_waits_when_the_link_ends_is_told():
    async with followed() as link:
        adding = asyncio.ensure_future(link.following.add(ONE, 10))
        await link.until_asked(1)
        await link.following.end()
        with pytest.raises(ConnectionLost):
            await adding
