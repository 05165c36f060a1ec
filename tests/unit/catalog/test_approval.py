"""What there is to approve."""

from bascule.catalog.approval import Proposal, overtaken, proposals, with_approved
from bascule.catalog.entry import Entry, make_entry
from bascule.catalog.judgement import Judgement
from bascule.catalog.pinning.lock import Lock
from bascule.core.json_types import JsonObject
from bascule.core.tool import ToolKey
from support.locks import RICH, approved

CHANGED = {**RICH, "title": "Other"}
FRESH = {"name": "fresh", "description": "New\u200b."}
GONE = {"name": "gone"}


def entries(*definitions: JsonObject, hidden: bool = False) -> dict[str, Entry]:
    return {
        one["name"]: make_entry(one, ToolKey("work", one["name"]), one["name"], lambda *_: Judgement(not hidden))
        for one in definitions
    }


LOCK = Lock({"work": approved(RICH, GONE)})


def test_new_changed_and_removed_tools_are_proposed_each_with_its_difference():
    changed, fresh, gone = proposals("work", entries(FRESH, CHANGED), LOCK)
    assert (changed.change, fresh.change, gone.change) == ("changed", "new", "removed")
    assert changed.diff() == ('~ title: "Act" → "Other"',)
    assert fresh.diff() == ('+ name: "fresh"', '+ description: "New\\u200b."')
    assert gone.diff() == ()
    assert [str(finding.kind) for finding in fresh.findings] == ["invisible"]


def test_what_is_approved_or_hidden_is_not_proposed():
    assert proposals("work", entries(RICH, GONE), LOCK) == ()
    assert proposals("work", entries(CHANGED, GONE, hidden=True), LOCK) == ()


def test_of_a_server_that_is_not_locked_everything_is_new():
    assert [proposal.change for proposal in proposals("work", entries(RICH, FRESH), Lock())] == ["new", "new"]


def test_what_is_approved_takes_the_place_of_what_was():
    accepted = proposals("work", entries(FRESH, CHANGED), LOCK)
    now = with_approved({**LOCK.servers, "other": approved(RICH)}, ["work"], accepted)
    assert now == {"work": approved(CHANGED, FRESH), "other": approved(RICH)}
    assert LOCK.servers == {"work": approved(RICH, GONE)}


def test_a_server_without_tools_can_be_locked():
    assert with_approved({}, ["work"], ()) == {"work": {}}


def test_what_the_lock_says_by_now_is_not_overwritten_unseen():
    accepted = proposals("work", entries(CHANGED, GONE), LOCK)
    assert overtaken(LOCK.servers, accepted) == ()
    assert overtaken({"work": approved(CHANGED)}, accepted) == ()
    another = {"work": approved({**RICH, "title": "Third"})}
    assert overtaken(another, accepted) == (ToolKey("work", "act"),)
    assert overtaken({}, accepted) == (ToolKey("work", "act"),)
    assert overtaken({}, [Proposal(ToolKey("work", "gone"), approved(GONE)["gone"], None)]) == ()
