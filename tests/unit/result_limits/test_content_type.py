"""What kind of text a result is."""

import pytest

from bascule.result_limits.content_type import Kind, is_table, kind_of, rule_of
from bascule.result_limits.source_bytes import Whole

PROSE = "When the bridge goes up, nobody passes, and that is as it should be.\nLater, when it is down, all may go.\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": 1}', Kind.JSON),
        (" [1]\n", Kind.JSON),
        ("a,b\n1,2\n3,4\n", Kind.CSV),
        ("a;b\n1;2\n3;4\n", Kind.CSV),
        ('a,b\n"1\n2",3\n4,5\n', Kind.CSV),
        ("a\tb\n1\t2\n3\t4\n", Kind.TSV),
        ("a,b\n1,2\n", Kind.TEXT),
        ("a,b\n1,2,3\n4,5\n", Kind.TEXT),
        (PROSE * 20, Kind.TEXT),
        ("When it rains, we wait\nWhen it shines, we go\nAnd at night, we sleep\n", Kind.TEXT),
        ("Yes, indeed.\nNo, never.\nPerhaps, so.\n", Kind.TEXT),
        ("Dear Sir,I write.\nYours,truly.\nNobody,here.\n", Kind.TEXT),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |\n", Kind.TABLE),
        (" a | b \n---+---\n 1 | 2 \n(1 row)\n", Kind.TABLE),
        ("+---+---+\n| a | b |\n+---+---+\n| 1 | 2 |\n+---+---+\n", Kind.TABLE),
        ("2026-01-01T00:00:00 all\n2026-01-01T00:00:01 is\n2026-01-01T00:00:02 well\n", Kind.LOG),
        ("INFO a, b\nINFO c, d\nWARNING e, f\n", Kind.LOG),
        ('127.0.0.1 - - [01/Jan/2026:00:00:00] "GET /"\n' * 3, Kind.LOG),
        ("hello", Kind.TEXT),
        ("", Kind.TEXT),
    ],
)
def test_the_kind_is_told_from_the_beginning(text: str, kind: Kind):
    assert kind_of(Whole.of_text(text)) is kind


def test_bytes_are_no_text():
    assert kind_of(Whole.of_bytes(b"\xff")) is Kind.BYTES
    assert kind_of(Whole.of_bytes(b"a,b\n1,2\n3,4\n")) is Kind.CSV


def test_each_kind_has_its_ending():
    assert {kind.ending for kind in Kind} == {"json", "csv", "tsv", "log", "txt", "bin"}


def test_a_table_is_known_by_the_line_below_its_names():
    assert rule_of(["| a |", "|---|", "| 1 |"]) == 1
    assert rule_of(["+--+", "| a |", "+--+", "| 1 |"]) == 2
    assert not is_table(["a", "---", "b"])
    assert not is_table(["| a |", "|---|"])
