"""How values are written."""

import pytest
from markupsafe import Markup

from bascule.dashboard.pages.templates import (
    LONGEST_TEXT,
    clock,
    count,
    legible,
    moment,
    one_line,
    pick,
    picked,
    seconds,
    share,
    stamp,
)
from bascule.dashboard.views.shapes import Drift


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a\u202eb", "a\\u202eb"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u200bb", "a\\u200bb"),
        ("a\rb", "a\\rb"),
        ("a\r\nb", "a\nb"),
        ("\x00", "\\x00"),
        ("plain", "plain"),
    ],
)
def test_what_hides_is_written_out(said: str, shown: str):
    assert legible(said) == shown


def test_what_is_no_text_and_what_is_of_the_page_is_left_as_it_is():
    assert legible(3) == 3
    assert legible(None) is None
    assert legible(Markup("<b>")) == Markup("<b>")


def test_a_text_without_an_end_is_cut():
    assert len(legible("x" * 1_000_000)) < LONGEST_TEXT + 10


def test_a_text_in_a_row_has_one_line():
    assert one_line("a\nb\tc") == "a\\nb c"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "–"),
        (0.0, "0 µs"),
        (0.00023, "230 µs"),
        (0.00452, "4.52 ms"),
        (0.0479, "47.9 ms"),
        (0.188, "188 ms"),
        (1.2, "1.20 s"),
        (150, "2 min"),
        (7200, "2.0 h"),
    ],
)
def test_a_duration_has_three_digits(value: float | None, words: str):
    assert seconds(value) == words


def test_times_and_numbers():
    assert clock(None) == "–"
    assert len(clock(0.0)) == 8
    assert (moment(None), stamp(None)) == ("", "")
    assert moment(0.0).startswith("19")
    assert stamp(0.0) == "1970-01-01T00:00:00Z"
    assert (count(1, "call"), count(2000, "call"), count(2, "day", "days")) == ("1 call", "2,000 calls", "2 days")
    assert (share(0, 0), share(0, 5), share(1, 3), share(1, 100_000)) == ("–", "0 %", "33.3 %", "0.1 %")


@pytest.mark.parametrize("tool", ["act", "a.b", "\u202eevil", "a\nb", "ü=/+", "\ud800"])
def test_a_tool_comes_back_from_a_form_exactly_as_it_went(tool: str):
    drift = Drift("work", tool, "changed", "sha256:abc", (), "", "", ())
    assert picked(pick(drift)) == (tool, "sha256:abc")


@pytest.mark.parametrize("word", ["", "x", "!!!.abc", "a.b", "gA==.x"])
def test_what_no_form_of_ours_sends_is_nothing(word: str):
    assert picked(word) is None
