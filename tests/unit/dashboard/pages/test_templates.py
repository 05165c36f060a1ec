"""Formats of values, and escaping of text from servers."""

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from bascule.dashboard.pages.assets import assets
from bascule.dashboard.pages.templates import (
    LONGEST_TEXT,
    asset_address,
    clock,
    count,
    environment,
    legible,
    moment,
    one_line,
    pick,
    picked,
    render,
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


def written(template: str, value: str) -> str:
    return environment().from_string(template).render(value=value)


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'-alert(1)-'", "{{7*7}}"]
)
def test_whatever_is_said_stays_text(hostile: str):
    shown = written('<p title="{{ value }}">{{ value | one_line }}</p>', hostile)
    assert "<script" not in shown
    assert "<img" not in shown
    assert '""' not in shown
    assert "49" not in shown


def test_what_hides_or_turns_around_is_written_out_wherever_it_stands():
    shown = written('<a title="{{ value }}">{{ value }}</a>', "a\u202e\x1b[2Jb")
    assert shown.count("a\\u202e\\x1b[2Jb") == 2


def test_a_name_that_is_not_there_is_a_mistake():
    with pytest.raises(UndefinedError):
        written("{{ other }}", "x")


def test_the_closed_door_needs_nothing_but_its_words():
    page = render("enter.html", words="no <b>", place="in a file")
    assert "no &lt;b&gt;" in page
    assert asset_address("style.css") in page
    assert assets()["style.css"].digest in page


def test_no_template_has_a_script_or_a_style_in_it():
    for name in environment().list_templates():
        source = environment().loader.get_source(environment(), name)[0]  # pyright: ignore[reportOptionalMemberAccess]
        assert "style=" not in source, name
        assert "onclick" not in source, name
        assert "<style" not in source, name
        assert "|safe" not in source.replace(" ", ""), name
        for line in source.splitlines():
            assert "<script" not in line or "src=" in line, name
