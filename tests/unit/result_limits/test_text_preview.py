"""Previews of CSV rows, and of lines of texts, logs and tables."""

import pytest

from bascule.config.model.result_presets import Preset
from bascule.result_limits.budget import Parts
from bascule.result_limits.content_type import Kind
from bascule.result_limits.source_bytes import Whole
from bascule.result_limits.text_preview import ERRORS, log_parts, separated_parts, table_parts, text_parts

FEW = Preset(head_rows=2, tail_rows=1)


def test_the_names_the_first_rows_and_the_last():
    parts = separated_parts(Whole.of_text("a,b\n1,2\n3,4\n5,6\n7,8\n"), FEW, Kind.CSV)
    assert [unit(99) for unit in (*parts.header, *parts.head, *parts.tail)] == ["a,b", "1,2", "3,4", "7,8"]
    assert (parts.total, parts.also) == (4, "2 columns")


def test_a_row_with_line_ends_in_it_is_one_row():
    text = 'a,b\n"1\n\n1",2\n3,4\n5,6\n"7\n7","8""\n8"\n'
    parts = separated_parts(Whole.of_text(text), FEW, Kind.CSV)
    assert [unit(99) for unit in parts.head] == ['"1\n\n1",2', "3,4"]
    assert [unit(99) for unit in parts.tail] == ['"7\n7","8""\n8"']
    assert parts.total == 4


@pytest.mark.parametrize(("preset", "rows"), [(Preset(head_rows=0, tail_rows=0), []), (Preset(), ["1\t2"])])
def test_as_many_as_are_wanted(preset: Preset, rows: list[str]):
    parts = separated_parts(Whole.of_text("a\tb\n1\t2"), preset, Kind.TSV)
    assert [unit(99) for unit in (*parts.head, *parts.tail)] == rows


@pytest.mark.parametrize(
    ("names", "columns"), [('"a\nb",c', "2 columns"), ("a\rb,c", "2 columns"), ("a," + "x" * 200_000, "")]
)
def test_odd_names(names: str, columns: str):
    parts = separated_parts(Whole.of_text(f"{names}\n1,2\n3,4\n"), FEW, Kind.CSV)
    assert parts.also == columns
    assert parts.total == 2


def test_names_too_long_to_be_looked_at_are_not_counted():
    text = ",".join("c" * 10 for _ in range(200_000)) + "\n1\n"
    assert separated_parts(Whole.of_text(text), FEW, Kind.CSV).also == ""


FEW_LINES = Preset(head_lines=2, tail_lines=1, head_rows=1, tail_rows=1)


def shown(parts: Parts) -> list[list[str]]:
    return [[unit(200) for unit in units] for units in (parts.header, parts.head, parts.marked, parts.tail)]


def test_the_first_and_the_last_lines_and_none_twice():
    assert shown(text_parts(Whole.of_text("a\nb\nc\nd\n"), FEW_LINES)) == [[], ["a", "b"], [], ["d"]]
    assert shown(text_parts(Whole.of_text("a\nb"), FEW_LINES)) == [[], ["a", "b"], [], []]
    assert shown(text_parts(Whole.of_text("a"), FEW_LINES)) == [[], ["a"], [], []]


def test_errors_from_in_between_are_shown_and_counted():
    lines = ["INFO ok"] * 5 + ["ERROR one", "INFO x", "  ValueError: two", "INFO"] + ["INFO ok"] * 5
    parts = log_parts(Whole.of_text("\n".join(lines)), FEW_LINES)
    assert shown(parts)[2] == ["ERROR one", "  ValueError: two"]
    assert parts.marked_total == 2


def test_only_so_many_errors_are_looked_at_and_all_are_counted():
    parts = log_parts(Whole.of_text("INFO\n" * 3 + "FATAL x\n" * 500 + "INFO\n" * 3), FEW_LINES)
    assert len(parts.marked) == ERRORS
    assert parts.marked_total == 500


def test_errors_at_the_ends_are_not_shown_twice():
    assert not log_parts(Whole.of_text("ERROR a\nINFO\nINFO\nERROR b"), FEW_LINES).marked


def test_a_table_keeps_its_names():
    parts = table_parts(Whole.of_text("| a |\n|---|\n| 1 |\n| 2 |\n| 3 |\n"), FEW_LINES)
    assert shown(parts) == [["| a |", "|---|"], ["| 1 |"], [], ["| 3 |"]]
    assert parts.total == 3
