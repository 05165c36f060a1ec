"""The ladder of an agent session."""

from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.views.sessions import ladder, row_unread
from bascule.records.feed.feed import SessionNote
from support.links import ALICE

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity


def receipt(number: int, after: DataSensitivity) -> Receipt:
    return Receipt(number, "raise", ALICE, 1.0, PUBLIC, after, number, Cause("label", "files", "read"))


def test_each_rung_has_what_last_raised_to_it_up_to_where_it_stands():
    rungs = [*ladder("confidential", [receipt(1, INTERNAL), receipt(2, CONFIDENTIAL), receipt(3, SECRET)])]
    assert [rung.place for rung in rungs] == ["below", "below", "now", "above"]
    assert [rung.reached.number if rung.reached else 0 for rung in rungs] == [0, 1, 2, 0]
    assert [rung.lane for rung in rungs] == ["open", "open", "proxied", "sealed"]


def test_one_that_cannot_be_read_counts_as_secret():
    row = row_unread(ALICE, "why", SessionNote(calls=3))
    assert (row.level, row.lane, row.known, row.calls) == ("secret", "sealed", False, 3)
