"""Notifications on a link in either era: list changes, resource updates and log messages."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from bascule.core.errors import ConnectionLost
from bascule.core.json_types import JsonObject
from bascule.core.log_listener import Ear
from bascule.core.request import Request
from bascule.core.sensitivity import Lane
from bascule.upstream import notifications
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link
from bascule.upstream.notifications import ACKNOWLEDGED, FINISHED, KINDS, LISTEN, UNHEARD, Tidings, promised
from bascule.upstream.settings import Agreement
from support.links import ALICE, Journal, a_key, a_link, a_plan
from support.streams import Leave, Loopback
from support.waiting import fail_after, until

ALL: dict[str, Any] = {kind: {"listChanged": True} for kind in KINDS}
OLD, NEW = "2025-11-25", "2026-07-28"
KEY = LinkKey("work", Lane.OPEN, ALICE)


class Ears:
    """Tidings, their peer, and what they told."""

    def __init__(self, version: str, capabilities: dict[str, Any]) -> None:
        self.peer = Loopback()
        self.told: list[str] = []
        self.remarks: list[JsonObject] = []
        agreement = Agreement(version, capabilities, {}, "")
        self.updates: list[str] = []
        self.level_wanted = ""
        self.tidings = Tidings(self.peer, self.peer.send, agreement, self.told.append, KEY, self)

    def updated(self, key: LinkKey, uri: str) -> None:
        assert key == KEY
        self.updates.append(uri)

    def remarked(self, key: LinkKey, params: JsonObject, ear: Ear | None) -> None:
        assert key == KEY
        self.remarks.append(params if ear is None else {**params, "ear": ear})

    def finished(self, key: LinkKey, theirs: str) -> bool:
        assert key == KEY
        return theirs == "known"

    def level(self, key: LinkKey) -> str:
        assert key == KEY
        return self.level_wanted

    def say(self, *methods: str) -> None:
        self.peer.say(*({"jsonrpc": "2.0", "method": method} for method in methods))

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [message for message in self.peer.sent if message["method"] == LISTEN]

    async def begin(self) -> None:
        """Begin, the server agreeing at once."""
        beginning = asyncio.create_task(self.tidings.begin())
        await self.peer.until_sent(1)
        self.say(ACKNOWLEDGED)
        await beginning

    async def until_asked(self, count: int) -> None:
        await self.peer.until_sent(count)


@asynccontextmanager
async def ears(version: str = NEW, /, **capabilities: Any) -> AsyncGenerator[Ears]:
    async with fail_after(20, "the life of a link's ears"):
        made = Ears(version, capabilities)
        try:
            yield made
        finally:
            await made.tidings.end()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long before asking again."""
    monkeypatch.setattr(notifications, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(notifications, "LONGEST_WAIT", 0.04)


# Notices


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_what_has_changed_is_told_by_its_kind(version: str):
    async with ears(version) as link:
        await link.tidings.begin()
        link.say(*(f"notifications/{kind}/list_changed" for kind in KINDS))

        assert link.told == ["tools", "resources", "prompts"]


async def test_what_nobody_wants_to_hear_is_counted():
    async with ears(OLD, **ALL) as link:
        await link.tidings.begin()
        link.say("notifications/other", "notifications/tools/changed", ACKNOWLEDGED)

        assert (link.told, link.peer.counters.notices_dropped) == ([], 3)


@pytest.mark.parametrize(("params", "dropped"), [({"elicitationId": "known"}, 0), ({"elicitationId": "x"}, 1), ({}, 1)])
async def test_that_a_person_has_finished_where_nobody_was_sent_is_counted(params: JsonObject, dropped: int):
    async with ears(OLD) as link:
        await link.tidings.begin()
        link.peer.say({"jsonrpc": "2.0", "method": FINISHED, "params": params})

        assert link.peer.counters.notices_dropped == dropped


async def test_after_the_end_nothing_is_heard():
    async with ears(OLD) as link:
        await link.tidings.begin()
        await link.tidings.end()
        link.say("notifications/tools/list_changed")

        assert link.told == []


# The long request of the new era


async def test_only_a_server_of_the_new_era_that_promises_to_tell_is_asked():
    for version, capabilities in (
        (OLD, ALL),
        (NEW, {"tools": {}}),
        (NEW, {"tools": {"listChanged": False}}),
        (NEW, {}),
    ):
        async with ears(version, **capabilities) as link:
            await link.tidings.begin()
            assert link.peer.sent == []


async def test_the_server_is_asked_for_what_it_promises_and_its_word_is_awaited():
    async with ears(tools={"listChanged": True}, prompts={"listChanged": True}, resources={}) as link:
        await link.begin()

        (asked,) = link.asked
        assert asked["params"] == {"notifications": {"toolsListChanged": True, "promptsListChanged": True}}
        assert link.told == []


async def test_a_link_does_not_wait_long_for_a_server_that_never_says_it_listens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notifications, "PATIENCE", 0.01)
    async with ears(**ALL) as link:
        await link.tidings.begin()
        link.say("notifications/tools/list_changed")

        assert (len(link.asked), link.told) == (1, ["tools"])


async def test_a_server_that_says_so_late_may_have_changed_before(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notifications, "PATIENCE", 0.01)
    async with ears(**ALL) as link:
        await link.tidings.begin()
        link.say(ACKNOWLEDGED, ACKNOWLEDGED, ACKNOWLEDGED)

        assert link.told == [*KINDS]


async def test_a_server_that_does_not_know_the_method_is_not_asked_again(at_once: None):
    async with ears(**ALL) as link:
        beginning = asyncio.create_task(link.tidings.begin())
        await link.until_asked(1)
        error = {"code": -32601, "message": "no"}
        link.peer.say({"jsonrpc": "2.0", "id": link.asked[0]["id"], "error": error})
        await beginning
        await asyncio.sleep(0.1)

        assert len(link.asked) == 1


@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": -32603, "message": "too many"}}])
async def test_a_server_that_ends_the_request_is_asked_again_and_then_looked_at(at_once: None, answer: dict[str, Any]):
    async with ears(**ALL) as link:
        await link.begin()
        link.peer.say({"jsonrpc": "2.0", "id": link.asked[0]["id"], **answer})
        await link.until_asked(2)
        link.say(ACKNOWLEDGED)

        assert link.told == [*KINDS]


async def test_a_server_that_ends_it_at_once_again_and_again_is_asked_ever_less(at_once: None):
    now = asyncio.get_running_loop().time
    async with ears(**ALL) as link:
        await link.begin()
        times: list[float] = []
        for number in range(1, 6):
            await link.until_asked(number)
            times.append(now())
            link.peer.answer(link.asked[-1]["id"])

    waited = [later - earlier for earlier, later in pairwise(times)]
    assert all(took >= least * 0.9 for took, least in zip(waited, (0.01, 0.02, 0.04, 0.04), strict=True)), waited


async def test_the_request_is_made_anew_before_a_dead_connection_is_believed_for_ever(
    at_once: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(notifications, "RENEWED", 0.05)
    async with ears(**ALL) as link:
        await link.begin()
        await link.peer.until_sent(3)

        assert [message["method"] for message in link.peer.sent] == [LISTEN, "notifications/cancelled", LISTEN]


async def test_it_is_no_call_in_flight_and_its_phase_says_so(at_once: None):
    async with ears(**ALL) as link:
        await link.begin()
        (pending,) = link.peer._pending.values()

        assert (pending.request.phase, pending.request.timeout) == ("listen", notifications.RENEWED)


async def test_a_lost_link_is_not_asked_again(at_once: None):
    async with ears(**ALL) as link:
        await link.begin()
        link.peer.lose(ConnectionLost("gone"))
        assert link.tidings._listening is not None
        await asyncio.wait((link.tidings._listening,))

        assert len(link.asked) == 1


async def test_ending_tells_the_server_and_leaves_no_task():
    async with ears(**ALL) as link:
        await link.begin()
        await link.tidings.end()
        await link.tidings.end()

        assert link.tidings._listening is not None
        assert link.tidings._listening.done()
        assert link.peer.sent[-1]["method"] == "notifications/cancelled"


def test_what_a_server_promises_is_read_with_care():
    assert promised({"tools": {"listChanged": True}, "prompts": {"listChanged": 1}, "resources": []}) == ("tools",)


# With a link


async def test_a_link_listens_before_it_lists_and_says_on_which_link_it_heard():
    order: list[str] = []
    heard: list[tuple[Link, str]] = []

    async def admit(link: Link) -> str:
        order.append("listed")
        return ""

    server = Promising(order)
    plan = replace(a_plan(lambda: server, admit=admit), on_change=lambda link, kind: heard.append((link, kind)))
    link = a_link(plan)
    async with fail_after(20, "the life of a link"):
        link.start()
        await link.opened()
        server.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await link.close()

    assert order == ["listens", "listed"]
    assert heard == [(link, "tools")]


async def test_a_link_whose_changes_nobody_wants_does_not_listen():
    order: list[str] = []
    async with fail_after(20, "the life of a link"):
        link = a_link(a_plan(lambda: Promising(order)))
        link.start()
        await link.opened()
        await link.close()

    assert order == []


async def test_a_link_can_be_closed_while_it_waits_for_a_servers_word(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notifications, "PATIENCE", 3600.0)
    server = Promising([], silent=True)
    link = a_link(replace(a_plan(lambda: server), on_change=lambda *_: None))
    async with fail_after(20, "the life of a link"):
        link.start()
        await server.asked.wait()
        tidings = link._tidings
        await link.close()

    assert tidings is not None
    assert tidings._listening is not None
    assert tidings._listening.done()


async def test_what_a_new_listing_showed_to_be_wrong_is_told_once():
    journal = Journal()
    link = a_link(a_plan(lambda: Promising([])), journal)
    async with fail_after(20, "the life of a link"):
        link.start()
        await link.opened()
        for shortcoming in ("", "one is bad", "one is bad", ""):
            link.restate(shortcoming)
        await link.close()
        link.restate("too late")

    assert journal.states == ["connecting", "ready", "degraded", "ready", "closed"]


class Promising(Loopback):
    """A server of the new era that promises to tell of changes, and keeps its word unless it is silent."""

    def __init__(self, order: list[str], *, silent: bool = False) -> None:
        super().__init__()
        self._order, self._silent = order, silent
        self.asked = asyncio.Event()

    async def send(self, request: Request) -> dict[str, Any]:
        if request.method == "server/discover":
            return {"supportedVersions": [NEW], "capabilities": ALL}
        self._order.append("listens")
        self.asked.set()
        if not self._silent:
            self.say({"jsonrpc": "2.0", "method": ACKNOWLEDGED})
        return await super().send(request)


@pytest.mark.usefixtures("at_once")
async def test_what_could_not_be_asked_for_want_of_leave_is_asked_later():
    async with ears(tools={"listChanged": True}) as link:
        link.peer.leave = leave = Leave(given=False)
        await link.peer.open()
        beginning = asyncio.create_task(link.tidings.begin())
        await until(lambda: leave.refusals > 1)
        assert link.asked == []
        leave.given = True
        await link.until_asked(1)
        link.say(ACKNOWLEDGED)
        await beginning


async def test_what_a_server_remarks_is_passed_on():
    ears = Ears("2025-11-25", {})
    await ears.tidings.begin()
    assert ears.peer.on_notice is not None

    ears.peer.on_notice("notifications/message", {"level": "info", "data": "hello"})

    assert ears.remarks == [{"level": "info", "data": "hello"}]
    assert ears.told == []


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
