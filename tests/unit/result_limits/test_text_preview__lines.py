"""Lines of texts, logs and tables."""

from bascule.config.model.result_presets import Preset
from bascule.result_limits.budget import Parts
from bascule.result_limits.source_bytes import Whole
from bascule.result_limits.text_preview import ERRORS, log_parts, table_parts, text_parts

FEW = Preset(head_lines=2, tail_lines=1, head_rows=1, tail_rows=1)


def shown(parts: Parts) -> list[list[str]]:
    return [[unit(200) for unit in units] for units in (parts.header, parts.head, parts.marked, parts.tail)]


def test_the_first_and_the_last_lines_and_none_twice():
    assert shown(text_parts(Whole.of_text("a\nb\nc\nd\n"), FEW)) == [[], ["a", "b"], [], ["d"]]
    assert shown(text_parts(Whole.of_text("a\nb"), FEW)) == [[], ["a", "b"], [], []]
    assert shown(text_parts(Whole.of_text("a"), FEW)) == [[], ["a"], [], []]


def test_errors_from_in_between_are_shown_and_counted():
    lines = ["INFO ok"] * 5 + ["ERROR one", "INFO x", "  ValueError: two", "INFO"] + ["INFO ok"] * 5
    parts = log_parts(Whole.of_text("\n".join(lines)), FEW)
    assert shown(parts)[2] == ["ERROR one", "  ValueError: two"]
    assert parts.marked_total == 2


def test_only_so_many_errors_are_looked_at_and_all_are_counted():
    parts = log_parts(Whole.of_text("INFO\n" * 3 + "FATAL x\n" * 500 + "INFO\n" * 3), FEW)
    assert len(parts.marked) == ERRORS
    assert parts.marked_total == 500


def test_errors_at_the_ends_are_not_shown_twice():
    assert not log_parts(Whole.of_text("ERROR a\nINFO\nINFO\nERROR b"), FEW).marked


def test_a_table_keeps_its_names():
    parts = table_parts(Whole.of_text("| a |\n|---|\n| 1 |\n| 2 |\n| 3 |\n"), FEW)
    assert shown(parts) == [["| a |", "|---|"], ["| 1 |"], [], ["| 3 |"]]
    assert parts.total == 3
