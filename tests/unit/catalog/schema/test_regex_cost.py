"""The work of regular expressions, told from their text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.schema.regex_cost import MAX_LENGTH, backtracks, load_of


@pytest.mark.parametrize(
    ("pattern", "states"),
    [
        ("", 0),
        ("abc", 3),
        ("a*b+c?", 3),
        ("[a-z]{3}", 4),
        ("[a-z]{1,50}", 50),
        ("a{5,}", 6),
        ("(ab){10}", 22),
        ("(a{10}){10}", 121),
        ("((a{9}){9}){9}", 1000),
        ("a|b|c", 3),
        (r"\d{4}-\d{2}", 9),
        (r"\{3}", 3),
        (r"[{}]{2}", 3),
        (r"[\]x]{2}", 3),
        ("(?:a)(?P<n>b)(?<m>c)", 3),
    ],
)
def test_states_are_counted_and_repeats_multiply(pattern: str, states: int):
    assert load_of(pattern).states == states


@pytest.mark.parametrize("pattern", ["a{1,100000}", "(a{1,1000}){1,1000}", "((((a{99}){99}){99}){99}){99}"])
def test_a_bomb_of_repeats_is_seen(pattern: str):
    assert load_of(pattern).states > 50_000


def test_a_set_repeated_from_start_to_end_is_in_one_state_at_a_time():
    assert load_of("^[A-Za-z0-9_-]{1,5000}$").states == 2
    assert load_of(r"^[\s\S]{0,1024}$").states == 2
    assert load_of("^[a-z]{1,50}[a-z]{1,50}$").states > 50


@pytest.mark.parametrize("pattern", [r"\p{L}{100}", r"[\p{L}\p{N} ]{80}", r"\P{Lu}{100}", r"(?=x)\w{100}"])
def test_unicode_classes_are_dear_to_build(pattern: str):
    assert load_of(pattern).build >= 80_000


def test_letters_without_case_are_dearer():
    assert load_of("(?i)abc").build > load_of("abc").build


@pytest.mark.parametrize(
    "pattern",
    [r"(?=a)b", r"(?!a)b", r"(?<=a)b", r"(?<!a)b", r"(a)\1", r"(?<x>a)\k<x>", "(?>a)", "a++", r"^(?!\s*$).+"],
)
def test_what_the_linear_engine_cannot_run_is_known(pattern: str):
    assert backtracks(pattern)


@pytest.mark.parametrize("pattern", ["^(a+)+$", r"^\d{4}-\d{2}$", "(?:ab)+", "(?<year>[0-9]+)", r"[^\s@]+@[^\s@]+"])
def test_what_it_can_run_is_not_sent_to_the_other_one(pattern: str):
    assert not backtracks(pattern)


@given(st.text(r"ab()[]{}\*+?|^$.,-0123456789<>=!:pPLwdé", max_size=60))
def test_any_text_has_a_load(pattern: str):
    load = load_of(pattern)

    assert load.states >= 0
    assert load.build >= 0


@pytest.mark.parametrize(
    "piece", ["[", "(", r"\p{", "{1,", "{" + "1" * 20, "[^", r"[\\", "(?<", "(?P<", "[]", r"\\"], ids=repr
)
def test_text_made_to_slow_the_reading_is_read_once(piece: str):
    """Each of these would be tried to the end from every position, were the reader not bounded."""
    assert load_of((piece * MAX_LENGTH)[:MAX_LENGTH] + "\\").states >= 0
