"""Who waits for approval, told when it changes."""

from typing import Any

from bascule.catalog.judgement import Judgement
from bascule.catalog.pages import Pages
from bascule.catalog.server_listing import ServerListing, catalog_listing
from bascule.core.events import ToolsQuarantined
from bascule.core.json_types import JsonObject
from bascule.runtime.servers.listings import Quarantine


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
