"""Agent sessions and receipts, as they are shown."""

import time

import pytest

from bascule.cli.views.sessions import (
    deed_shape,
    deed_text,
    listing_shape,
    plainly,
    session_shape,
    show_table,
    shown_shape,
    shown_text,
)
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.levels.operator import Deed
from bascule.store.levels.interface import SessionRecord

ALICE = Principal("alice", "s-1")
AT = time.mktime((2026, 10, 2, 10, 11, 12, 0, 0, -1))
SECRET = SessionRecord(ALICE, DataSensitivity.SECRET, 2, datasets={"patients": DataSensitivity.SECRET}, since=AT)
RAISED = Receipt(
    7,
    "raise",
    ALICE,
    AT,
    DataSensitivity.PUBLIC,
    DataSensitivity.SECRET,
    1,
    Cause("raises rule", "files", "read"),
    ("files (open)",),
    {"web": "refused", "files": "declared"},
    "1 other runtimes acknowledged",
)
SHAPE = {
    "user": "alice",
    "session": "s-1",
    "level": "secret",
    "lane": "sealed",
    "since": AT,
    "datasets": {"patients": "secret"},
    "ended": False,
    "doubt": "",
}
RECEIPT = {
    "number": 7,
    "at": AT,
    "change": "raise",
    "from": "public",
    "to": "secret",
    "cause": {"by": "raises rule", "server": "files", "tool": "read", "dataset": "", "reason": ""},
    "closed": ["files (open)"],
    "twins": {"web": "refused", "files": "declared"},
    "fence": "1 other runtimes acknowledged",
}


def test_every_shape_is_as_documented():
    assert listing_shape([SECRET], {ALICE: 3}) == {"sessions": [{**SHAPE, "receipts": 3}]}
    assert listing_shape([SECRET], {})["sessions"][0]["receipts"] == 0
    assert listing_shape([SECRET], None)["sessions"][0]["receipts"] is None
    assert shown_shape(SECRET, [RAISED]) == {**SHAPE, "receipts": [RECEIPT]}
    assert deed_shape(Deed(SECRET, RAISED, "fenced")) == {"ok": True, **SHAPE, "receipt": RECEIPT, "fence": "fenced"}
    assert deed_shape(Deed(SECRET, None, "fenced"))["receipt"] is None


def test_what_was_lost_with_the_rest_has_no_time():
    assert session_shape(SessionRecord(ALICE, DataSensitivity.SECRET, doubt="lost"))["since"] is None


def test_one_agent_session_is_told_in_full():
    assert shown_text(SECRET, [RAISED]).splitlines() == [
        "alice/s-1 is SECRET, lane sealed",
        "  since:    2026-10-02 10:11:12",
        "  datasets: patients (SECRET)",
        "",
        "receipt 7, 2026-10-02 10:11:12, raise: PUBLIC → SECRET",
        "  by:       raises rule of files/read",
        "  closed:   files (open)",
        "  served:   files declared, web refused",
        "  fence:    1 other runtimes acknowledged",
    ]
    assert shown_text(SECRET, []).endswith("nothing has changed its level")


def test_a_receipt_that_nobody_completed_says_so():
    receipt = Receipt(1, "end", ALICE, AT, DataSensitivity.PUBLIC, DataSensitivity.PUBLIC, 1, Cause("operator ada"))
    assert shown_text(SECRET, [receipt]).splitlines()[-3:] == [
        "receipt 1, 2026-10-02 10:11:12, end",
        "  by:       operator ada",
        "  fence:    it is not known to be over",
    ]


def test_doubt_and_an_end_are_told():
    record = SessionRecord(ALICE, DataSensitivity.SECRET, ended=True, doubt="its row cannot be read")
    assert plainly(record) == "alice/s-1 is SECRET, lane sealed, ended\n  doubt:    its row cannot be read"


def test_a_deed_is_told_with_its_receipt_or_that_there_was_nothing_to_do():
    assert "receipt 7" in deed_text(Deed(SECRET, RAISED, "fenced"))
    assert deed_text(Deed(SECRET, None, "fenced")).splitlines() == [
        "alice/s-1 was SECRET already",
        "  datasets: patients (SECRET)",
        "  fence:    fenced",
    ]


def test_nobodys_words_can_move_the_cursor_or_pass_for_a_line_of_ours():
    cause = Cause("operator ada", reason="why\n  fence:    all is well\x1b[2J")
    receipt = Receipt(1, "raise", ALICE, AT, DataSensitivity.PUBLIC, DataSensitivity.SECRET, 1, cause)
    shown = shown_text(SECRET, [receipt])

    assert "\x1b" not in shown
    assert [line for line in shown.splitlines() if line.startswith("  fence:")] == [
        "  fence:    it is not known to be over"
    ]


def test_a_row_for_each_whatever_is_in_it(capsys: pytest.CaptureFixture[str]):
    odd = SessionRecord(Principal("[red]bob", "x" * 255), DataSensitivity.PUBLIC, ended=True, doubt="d" * 200)
    show_table([SECRET, odd], {ALICE: 3})
    head, alice, bob = (line.rstrip() for line in capsys.readouterr().out.rstrip("\n").split("\n"))

    columns = ["user", "session", "level", "lane", "since", "datasets", "receipts", "ended", "doubt"]
    assert head.split() == columns
    assert alice.split() == [
        *("alice", "s-1", "SECRET", "sealed", "2026-10-02", "10:11:12"),
        *("patients", "(SECRET)", "3"),
    ]
    assert bob.split() == ["[red]bob", "x" * 255, "PUBLIC", "open", "0", "ended", "d" * 200]
    show_table([SECRET], None)
    assert capsys.readouterr().out.rstrip().endswith(" ?")
