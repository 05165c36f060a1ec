"""What a link hears of its server's resources, and of what it remarks."""

import asyncio
from typing import Any

import pytest

from bascule.core.request import Request
from bascule.upstream.notifications import ACKNOWLEDGED, UNHEARD
from support.links import a_key
from support.streams import Leave
from unit.upstream.test_notifications import NEW, OLD, ears


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_resource_that_changed_is_told(version: str):
    async with ears(version) as link:
        await link.tidings.begin()
        link.peer.say({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "notes://1"}})
        link.peer.say({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": 1}})
        assert link.updates == ["notes://1"]
        assert link.peer.counters.notices_dropped == 1


async def test_one_who_listens_for_a_request_hears_what_is_said_on_its_stream():
    async with ears(OLD) as link:
        await link.tidings.begin()
        ear: Any = object()
        hear = link.tidings.heard_by(ear)
        hear("notifications/message", {"data": "x"})
        hear("notifications/tools/list_changed", {})
        assert link.remarks == [{"data": "x", "ear": ear}]
        assert link.told == ["tools"]


async def test_a_server_of_the_old_era_is_asked_for_as_much_as_is_wanted_and_not_twice():
    async with ears(OLD, logging={}) as link:
        await link.tidings.begin()
        assert not link.peer.sent
        for level in ("info", "info", "debug"):
            link.level_wanted = level
            count = len(link.peer.sent)
            tuning = asyncio.create_task(link.tidings.tune())
            await asyncio.sleep(0)
            if len(link.peer.sent) > count:
                link.peer.answer(link.peer.sent[-1]["id"])
            await tuning
        assert [message["params"]["level"] for message in link.peer.sent] == ["info", "debug"]


async def test_a_level_that_is_wanted_already_is_asked_for_when_the_link_opens():
    async with ears(OLD, logging={}) as link:
        link.level_wanted = "debug"
        beginning = asyncio.create_task(link.tidings.begin())
        await link.peer.until_sent(1)
        # That a server refuses is nobody's trouble.
        link.peer.say({"jsonrpc": "2.0", "id": link.peer.sent[0]["id"], "error": {"code": -32601, "message": "no"}})
        await beginning
        assert link.peer.sent[0]["method"] == "logging/setLevel"


@pytest.mark.parametrize(("version", "capabilities"), [(OLD, {}), (NEW, {"logging": {}})])
async def test_a_server_that_knows_no_levels_is_not_asked(version: str, capabilities: dict[str, Any]):
    async with ears(version, **capabilities) as link:
        link.level_wanted = "debug"
        await link.tidings.begin()
        assert not link.peer.sent


async def test_in_the_new_era_each_agent_session_has_a_long_request_of_its_own():
    async with ears(NEW) as link:
        await link.tidings.begin()
        alice, bob = Leave(), Leave()
        uris = {"notes://1": alice, "notes://2": bob, "notes://3": alice}
        for count, (uri, permit) in enumerate(uris.items(), 1):
            request = Request("resources/subscribe", {"uri": uri}, 5, permit=permit)
            subscribing = asyncio.create_task(link.tidings.subscribe(request))
            await link.until_asked(count)
            asked = link.asked[-1]
            meta = {"io.modelcontextprotocol/subscriptionId": asked["id"]}
            agreed = {"notifications": asked["params"]["notifications"], "_meta": meta}
            link.peer.say({"jsonrpc": "2.0", "method": ACKNOWLEDGED, "params": agreed})
            assert await subscribing == {}
            if count == 2:
                assert await link.tidings.subscribe(Request("resources/unsubscribe", {"uri": "x"}, 5)) == {}
        wanted = [each["params"]["notifications"]["resourceSubscriptions"] for each in link.asked]
        assert wanted == [["notes://1"], ["notes://2"], ["notes://1", "notes://3"]]
        for uri, permit in uris.items():
            await link.tidings.subscribe(Request("resources/unsubscribe", {"uri": uri}, 5, permit=permit))
        assert all(each.idle for each in link.tidings._followings.values())


def test_where_nobody_hears_nothing_is_wanted():
    UNHEARD.updated(a_key(), "notes://1")
    UNHEARD.remarked(a_key(), {}, None)
    assert not UNHEARD.level(a_key())
