"""The log as it is shown."""

from typing import Any

import pytest

from bascule.cli.views.audit import check_shape, check_text, entry_shape, show_table
from bascule.records.audit.damage import AuditCheck, Damage, WriterCheck
from bascule.records.audit.read import Entry
from bascule.store.audit.anchors import Anchor

HEAD, PROVEN = Anchor("w-0001", 9, "ab" * 32, 2.0), Anchor("w-0001", 6, "cd" * 32, 1.0)
DAMAGE = Damage("altered", "record 7 is not as it was written", "0001.log", 7, 7)
GOOD = WriterCheck("w-0001", ("0001.log",), 9, HEAD, PROVEN, "store", unfinished=12)
BAD = WriterCheck("w-0001", ("0001.000001.log", "0001.log"), 9, HEAD, None, "", (DAMAGE,), 3)


def test_records_are_a_table_in_which_nothing_hides(capsys: pytest.CaptureFixture[str]):
    show_table(
        [
            Entry(
                "w-0001", 2, 1.0, "sending", {"user": "a\x1b[31m", "session": "s", "server": "files", "tool": "x\ny"}
            ),
            Entry(
                "w-0002",
                3,
                1e300,
                "ended",
                {"outcome": "[bold]ok[/bold]", "seconds": 0.123456, "arguments": {"a": "b"}},
            ),
            Entry("w-0002", 4, 0.0, "odd", {}),
        ]
    )
    shown = capsys.readouterr().out

    assert "\x1b" not in shown
    assert "a\\x1b[31m/s" in shown
    assert "files/x\\ny" in shown
    assert "0001:2" in shown
    assert 'outcome=[bold]ok[/bold] seconds=0.123 arguments={"a":"b"}' in shown
    assert shown.count("\n") == 4


def test_a_record_is_one_object():
    assert entry_shape(Entry("w-0001", 2, 1.0, "x", {"user": "a"})) == {
        "at": 1.0,
        "writer": "w-0001",
        "seq": 2,
        "kind": "x",
        "user": "a",
    }


def test_what_is_proven_is_told_and_what_cannot_be():
    text = check_text(AuditCheck((GOOD,), elsewhere=2))

    assert "w-0001: 9 records in 1 file\n" in text
    assert "proven up to record 6, by the anchor of " in text
    assert "kept in the store; 3 records after it" in text
    assert f"anchor: w-0001:6:{'cd' * 32}" in text
    assert "12 bytes of a last record" in text
    assert "2 anchors in the store are of other state folders" in text
    assert "\nintact\n" in text
    assert text.endswith("cannot be found out.")


def test_damage_is_told_with_its_place():
    missing = Damage("file missing", "no file of w-0002 is there, and it had 5 records", sequence=5)
    text = check_text(AuditCheck((BAD,), (missing,)))

    assert "9 records in 2 files, DAMAGED" in text
    assert "altered: record 7 is not as it was written (0001.log, line 7)" in text
    assert "… and 2 more" in text
    assert "no anchor holds: nothing of it is proven" in text
    assert "file missing: no file of w-0002" in text
    assert "DAMAGED: the log is not what was written" in text


def test_where_there_is_nothing_that_is_told():
    assert check_text(AuditCheck(())) == "nothing is logged yet\nintact"


def test_an_anchor_that_was_given_has_no_time():
    given = WriterCheck("w-0001", (), 9, HEAD, Anchor("w-0001", 9, "ab", 0.0), "given")

    assert "by the anchor, which was given; 0 records after it" in check_text(AuditCheck((given,)))
    one = WriterCheck("w-0001", (), 9, HEAD, Anchor("w-0001", 8, "ab", 0.0), "log")
    assert "which the log tells of; 1 record after it" in check_text(AuditCheck((one,)))


def test_the_shape_of_a_check():
    shape: Any = check_shape(AuditCheck((GOOD, BAD), (), 1))

    assert (shape["ok"], shape["elsewhere"], shape["damage"]) == (False, 1, [])
    good, bad = shape["writers"]
    assert (good["ok"], good["after"], good["proven"]["sequence"], good["proven_by"]) == (True, 3, 6, "store")
    assert good["proven"]["anchor"] == f"w-0001:6:{'cd' * 32}"
    assert (bad["ok"], bad["proven"], bad["proven_by"], bad["damages"]) == (False, None, None, 3)
    assert bad["damage"] == [
        {"what": "altered", "told": DAMAGE.told, "file": "0001.log", "line": 7, "sequence": 7},
    ]
