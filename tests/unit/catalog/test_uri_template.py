"""Which URIs a template can have become."""

import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.uri_template import MAX_BLANKS, UriTemplate, parse_template


def template(text: str) -> UriTemplate:
    parsed = parse_template(text)
    assert isinstance(parsed, UriTemplate), parsed
    return parsed


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("notes://{day}", "notes://monday"),
        ("notes://{day}", "notes://%C3%BC"),
        ("notes://{day}/page", "notes://monday/page"),
        ("notes://{a}{b}", "notes://xy"),
        ("a{b}c{d}e", "aXcYcZe"),
        ("file:///{+path}", "file:///etc/hosts"),
        ("a://x{?q}{&r}", "a://x"),
        ("a://x{?q}{&r}", "a://x?q=1&r=2"),
        ("a://x{/part*}{?q,z*}", "a://x/b/c?d"),
        ("a://x{.ext}", "a://x.txt"),
        ("a://x{;v}", "a://x;v=1"),
        ("a://x{#part}", "a://x#here"),
        ("a://{name:3}", "a://abc"),
        ("plain://only", "plain://only"),
    ],
)
def test_a_uri_that_fits_matches(text: str, uri: str):
    assert template(text).matches(uri)


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("notes://{day}", "notes://"),
        ("notes://{day}", "notes://monday/page"),
        ("notes://{day}", "notes://monday?all"),
        ("notes://{day}", "memos://monday"),
        ("notes://{a}{b}", "notes://x"),
        ("a{b}c{d}e", "aXcYf"),
        ("a://x{?q}", "a://x#here"),
        ("plain://only", "plain://onl"),
        ("plain://only", "plain://only/"),
        ("", "a"),
    ],
)
def test_a_uri_that_does_not_fit_does_not_match(text: str, uri: str):
    assert not template(text).matches(uri)


@pytest.mark.parametrize("text", ["a{", "a}", "{}", "{{a}}", "{=a}", "{a b}", "{a,}", "{+}", "{a}" * (MAX_BLANKS + 1)])
def test_what_is_no_template_says_why(text: str):
    assert isinstance(parse_template(text), str)


names = st.text("abcxyz", min_size=1, max_size=4)


@given(st.lists(st.tuples(names, names), max_size=5))
def test_what_a_template_expands_to_always_matches(parts: list[tuple[str, str]]):
    text = "a://" + "".join(f"{literal}{{v{number}}}" for number, (literal, _) in enumerate(parts))
    uri = "a://" + "".join(literal + value for literal, value in parts)

    assert template(text).matches(uri)


BOMBS = {
    "blanks": "a://" + "x{v}" * MAX_BLANKS + "!",
    "literals": "a://{v}" + "ab" * 1000 + "{w}!",
    "optional": "a://" + "{?a}{/b}" * (MAX_BLANKS // 2) + "!",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_hostile_template_takes_as_many_turns_as_the_uri_has_characters(bomb: str):
    """Counted, not timed: a matcher that goes back would take the square of this, or worse."""
    uri = "a://" + "xab" * 600
    found = template(bomb)
    lines = counted(lambda: found.matches(uri))

    assert lines < 30 * len(uri)


def counted(act: Callable[[], object]) -> int:
    """Lines of Python that were run."""
    lines = 0

    def trace(*_: object) -> object:
        nonlocal lines
        lines += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # pyright: ignore[reportArgumentType] -- it takes any frame, and gives itself back
    try:
        act()
    finally:
        sys.settrace(before)
    return lines
