"""Tool listings per principal: shared toolboxes, judgement by exposure and lock, and quarantine events."""

from pathlib import Path
from typing import Any

from bascule.catalog.digest import tool_digest
from bascule.catalog.judgement import Judgement
from bascule.catalog.pages import Pages
from bascule.catalog.pinning.lock import Lock
from bascule.catalog.server_listing import ServerListing, catalog_listing
from bascule.config import ServerConfig, StdioTransport
from bascule.core.events import ToolsQuarantined
from bascule.core.json_types import JsonObject
from bascule.core.permission import UNDECLARED, Permission
from bascule.core.principal import Principal
from bascule.policy.exposure import Exposure
from bascule.runtime.servers.listings import MOST_TOOLBOXES, Quarantine, Toolboxes, judge_of
from bascule.upstream.key import SHARED
from support.links import ALICE, BOB
from support.locks import RICH, approved
from support.runtime import a_tool, obeying, roster_of, running


async def test_what_is_listed_for_one_is_not_shown_to_another(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        roster = roster_of(runtime)
        listings, version = roster.listings, roster.listings.version
        await roster.settle(ALICE, "work")

        assert listings.of(ALICE, "work") is listings.latest("work") is not None
        assert listings.of(BOB, "work") is None
        assert (listings.exposed(ALICE, "work"), listings.exposed(BOB, "work")) == (1, 0)
        assert listings.version > version
        assert "tools" in listings.capabilities_of(ALICE, "work")
        assert listings.capabilities_of(BOB, "work") == {}


async def test_who_shares_a_link_shares_what_it_lists(tmp_path: Path):
    async with running(obeying(tmp_path / "log", lifetime="shared", stateless=True)) as runtime:
        roster = roster_of(runtime)
        await roster.settle(ALICE, "work")

        assert roster.listings.whose(BOB, "work") == (SHARED, "work")
        assert roster.listings.of(BOB, "work") is roster.listings.of(ALICE, "work") is not None


async def test_the_same_listing_moves_nothing(tmp_path: Path):
    async with running(obeying(tmp_path / "log", a_tool("act"))) as runtime:
        roster = roster_of(runtime)
        await roster.settle(ALICE, "work")
        shown, version = roster.listings.of(ALICE, "work"), roster.listings.version
        await roster.anew(ALICE, "work")

        assert roster.listings.of(ALICE, "work") is shown
        assert roster.listings.version == version


async def test_what_was_known_of_a_server_can_be_forgotten(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        roster = roster_of(runtime)
        await roster.settle(ALICE, "work")
        edition = roster.listings.editions["work"]
        roster.listings.forget("work")

        assert roster.listings.of(ALICE, "work") is roster.listings.latest("work") is None
        assert roster.listings.editions["work"] == edition + 1
        assert roster.listings.toolbox(ALICE).specs() == ()


async def test_a_tool_that_is_gone_names_its_server_to_those_who_saw_it(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        listings = roster_of(runtime).listings

        assert listings.remover_of(Principal("carol", "s-3"), "work_act") is None


def a_listing(tool: str) -> ServerListing:
    pages = Pages()
    pages.add({"tools": [a_tool(tool)]})
    return catalog_listing("work", "work", pages)[0]


def test_toolboxes_are_not_kept_without_end():
    boxes = Toolboxes()
    listings = [a_listing(f"act{number}") for number in range(MOST_TOOLBOXES + 1)]
    first = boxes.of((listings[0],))
    assert boxes.of((listings[0],)) is first
    for listing in listings[1:]:
        boxes.of((listing,))

    assert len(boxes._made) == MOST_TOOLBOXES
    assert boxes.of((listings[0],)) is not first


READ = frozenset({Permission.READ})
LOCKED = Lock({"work": approved(RICH)})


def judged(lock: Lock, definition: dict[str, Any], **config: Any) -> Judgement:
    server = ServerConfig("work", StdioTransport("x"), **config)
    exposure = Exposure.of(server.allow, server.block)
    return judge_of(server, exposure, lock)(definition, tool_digest(definition))


def test_exposure_permissions_and_approval_are_judged_together():
    assert judged(Lock(), RICH) == Judgement(True, UNDECLARED, "")
    assert judged(Lock(), RICH, block=["act"]).exposed is False
    assert judged(LOCKED, RICH).unapproved == ""
    assert "title changed" in judged(LOCKED, {**RICH, "title": "Other"}).unapproved


def test_a_pattern_vouches_for_a_tool_only_as_it_was_approved():
    word = {"a*": "read"}
    assert judged(Lock(), RICH, permissions=word).permissions == UNDECLARED
    assert judged(LOCKED, RICH, permissions=word).permissions == READ
    assert judged(LOCKED, {**RICH, "title": "Other"}, permissions=word).permissions == UNDECLARED


def test_a_trusted_server_tightens():
    hints = {**RICH, "annotations": {"readOnlyHint": True}}
    assert judged(Lock(), hints, permissions={"act": "read"}).permissions == READ
    tightened = judged(Lock(), hints, permissions={"act": "read"}, trust=["annotations"]).permissions
    assert tightened == READ | {Permission.CONNECT}


def listing(*unapproved: str, server: str = "work") -> ServerListing:
    def judge(definition: JsonObject, _digest: str) -> Judgement:
        return Judgement(unapproved="it waits" if definition["name"] in unapproved else "")

    pages = Pages()
    tools: list[Any] = [{"name": name, "inputSchema": {"type": "object"}} for name in ("a", "b", "c")]
    pages.add({"tools": tools})
    return catalog_listing(server, server, pages, None, judge)[0]


def test_what_is_no_longer_as_approved_is_told_once_and_so_is_what_is_again():
    told: list[ToolsQuarantined] = []
    quarantine = Quarantine(told.append, lambda: 5.0)
    for unapproved in ((), ("a", "b"), ("a", "b"), ("b", "c"), ()):
        quarantine.follow(listing(*unapproved))

    assert told == [
        ToolsQuarantined("work", ("a", "b"), (), 5.0),
        ToolsQuarantined("work", ("c",), ("a",), 5.0),
        ToolsQuarantined("work", (), ("b", "c"), 5.0),
    ]


def test_each_server_is_followed_by_itself_and_one_that_is_forgotten_begins_anew():
    told: list[ToolsQuarantined] = []
    quarantine = Quarantine(told.append, lambda: 5.0)
    quarantine.follow(listing("a"))
    quarantine.follow(listing("a", server="other"))
    quarantine.forget("work")
    quarantine.follow(listing("a"))

    assert [event.server for event in told] == ["work", "other", "work"]
