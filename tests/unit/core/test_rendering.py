"""Results as text for a model."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.rendering import render, render_structured

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc.", max_size=5), inner, max_size=4),
    max_leaves=10,
)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_structured_content_is_shown_and_content_is_not():
    raw: dict[str, Any] = {"content": [text("the same, as text")], "structuredContent": {"b": [1, 2], "a": "x"}}

    assert render(raw, "yaml") == "b:\n- 1\n- 2\na: x"
    assert render(raw, "json") == '{\n  "b": [\n    1,\n    2\n  ],\n  "a": "x"\n}'


def test_without_structured_content_the_blocks_are_shown_line_by_line():
    assert render({"content": [text("one"), text("two")]}, "yaml") == "one\ntwo"


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (text(""), ""),
        ({"type": "image", "mimeType": "image/png", "data": "AAAA"}, "[image image/png, 3 bytes]"),
        ({"type": "audio", "data": None}, "[audio of unknown type, 0 bytes]"),
        ({"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}, "inside"),
        ({"type": "resource", "resource": {"uri": "file:///a", "blob": "AA=="}}, "[resource file:///a]"),
        ({"type": "resource_link", "uri": "file:///a"}, "[link file:///a]"),
        ({"type": "hologram", "x": 1}, '{"type":"hologram","x":1}'),
        ({"type": "text"}, '{"type":"text"}'),
        ("not a block", "not a block"),
    ],
)
def test_every_kind_of_block_says_what_it_is(block: Any, shown: str):
    assert render({"content": [block]}, "yaml") == shown


def test_bytes_are_never_shown():
    assert "QUJD" not in render({"content": [{"type": "image", "mimeType": "image/png", "data": "QUJD" * 99}]}, "yaml")


@pytest.mark.parametrize("raw", [{}, {"content": None}, {"content": []}])
def test_nothing_renders_as_nothing(raw: dict[str, Any]):
    assert render(raw, "yaml") == ""


@pytest.mark.parametrize(("value", "shown"), [("word", "word"), (7, "7"), (False, "false"), ([], "[]"), ({}, "{}")])
def test_a_bare_value_has_no_end_mark(value: Any, shown: str):
    assert render_structured(value, "yaml") == shown


@pytest.mark.parametrize("value", ["wait...", {"a": "wait..."}, ["wait..."], {"a": {"b": "x\n..."}}, "x\n..."])
def test_a_text_that_ends_in_three_dots_keeps_them(value: Any):
    assert yaml.safe_load(render_structured(value, "yaml")) == value


def test_text_that_looks_like_something_else_stays_text():
    value = {"no": "no", "date": "2026-01-01", "number": "1.0", "null": "null"}

    assert yaml.safe_load(render_structured(value, "yaml")) == value


@given(json_values)
@pytest.mark.long
def test_yaml_says_exactly_what_was_given(value: Any):
    assert yaml.safe_load(render_structured(value, "yaml")) == value


def test_emoji_stay_what_they_are():
    assert render_structured({"mood": "😀", "place": "Zürich"}, "yaml") == "mood: 😀\nplace: Zürich"
