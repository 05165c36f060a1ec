"""How two definitions differ."""

from copy import deepcopy
from typing import Any

import pytest

from bascule.catalog.pinning.definition_diff import (
    MAX_LINES,
    MAX_PIECES,
    MAX_TEXT_LINES,
    changed_fields,
    definition_diff,
)
from bascule.core.text.invisible_chars import HIDDEN
from support.locks import RICH

LONG = "This is the first sentence of a text. This is the second one, which says more. And this is the third of them."


def diff(before: Any, after: Any) -> tuple[str, ...]:
    return definition_diff({"name": "a", "x": before}, {"name": "a", "x": after})


def test_nothing_differs_from_itself_whatever_the_order_of_keys():
    turned = dict(reversed(deepcopy(RICH).items()))
    assert definition_diff(RICH, turned) == ()
    assert changed_fields(RICH, turned) == ()


def test_each_difference_is_a_line_with_its_place():
    after = deepcopy(RICH)
    after["title"] = "Other"
    after["inputSchema"]["properties"]["path"]["type"] = "number"
    after["inputSchema"]["properties"]["to"] = {"type": "string"}
    after["inputSchema"]["required"] = ["path", "to"]
    del after["icons"]
    after["annotations"]["readOnlyHint"] = False
    assert definition_diff(RICH, after) == (
        '~ title: "Act" → "Other"',
        '~ inputSchema.properties.path.type: "string" → "number"',
        '+ inputSchema.properties.to.type: "string"',
        '~ inputSchema.required: ["path"] → ["path","to"]',
        "~ annotations.readOnlyHint: true → false",
        '- icons: [{"mimeType":"image/png","src":"data:image/png;base64,AAAA"}]',
    )
    assert changed_fields(RICH, after) == ("title", "inputSchema", "annotations", "icons")


def test_a_new_tool_is_told_whole_and_a_removed_one_not():
    told = definition_diff(None, RICH)
    assert told[0] == '+ name: "act"'
    assert all(line.startswith("+ ") for line in told)
    assert '+ x-unknown.deep: [1,{"a":null}]' in told
    assert definition_diff(RICH, None) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [(1, True), (0, False), (None, 0), ("1", 1), ({}, []), ({}, None), ([], None), (1, 1.5), ({"a": 1}, {"a": "1"})],
)
def test_values_that_python_or_a_reader_could_take_for_the_same_differ(before: Any, after: Any):
    (line,) = diff(before, after)
    assert line.startswith("~ x")
    assert changed_fields({"x": before}, {"x": after}) == ("1 other field",)


@pytest.mark.parametrize("value", [{}, [], None, ""])
def test_an_empty_value_that_comes_or_goes_is_told(value: Any):
    assert len(definition_diff({"name": "a"}, {"name": "a", "x": value})) == 1
    assert len(definition_diff({"name": "a", "x": value}, {"name": "a"})) == 1


def test_of_a_long_text_the_sentences_that_changed_are_told():
    lines = diff(LONG, LONG.replace("second", "2nd"))
    assert lines[0] == "~ x:"
    assert [line.strip()[0] for line in lines[1:]] == ["T", "-", "+", "A"]
    assert "2nd one" in lines[3]


def test_a_text_that_became_an_object_of_the_same_look_is_told():
    value = {"a": "x" * 100}
    lines = diff('{"a":"' + "x" * 100 + '"}', value)
    assert any(line.strip().startswith("-") for line in lines[1:])
    assert any(line.strip().startswith("+") for line in lines[1:])


@pytest.mark.parametrize(
    "change", [("text. ", "text.\n"), ("text. ", "text.  "), ("text. ", "text.\u00a0"), ("the third", "thе third")]
)
def test_changes_nobody_sees_are_made_visible(change: tuple[str, str]):
    lines = [line.strip() for line in diff(LONG, LONG.replace(*change))]
    gone, came = ([line for line in lines if line.startswith(mark)] for mark in ("-", "+"))
    assert gone
    assert came
    assert {line[1:].strip() for line in gone} != {line[1:].strip() for line in came}
    assert all(line.isascii() for line in gone + came)


@pytest.mark.parametrize("text", ["a\u200bb", "a\x1b[2Jb", "a\rb", "a\u202eb", f"{LONG}\U000e0041{LONG}\r\n\x07"])
def test_nothing_hides_in_what_is_told(text: str):
    lines = definition_diff({"name": "a"}, {"name": "a", "description": text, text: {text: text}})
    assert lines
    for line in lines:
        assert not HIDDEN.search(line)
        assert "\n" not in line
        assert "\r" not in line


def test_letters_that_look_alike_are_told_apart_in_short_values_too():
    assert diff("read", "rеad") == ('~ x: "read" → "r\\u0435ad"',)


def test_what_is_beyond_the_bound_is_counted():
    many = {f"k{number}": number for number in range(MAX_LINES + 50)}
    lines = definition_diff({"name": "a", "x": {}}, {"name": "a", "x": many})
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "… and 50 more lines of differences that are not shown"
    long = diff("", "\n".join(f"line {number}" for number in range(200)))
    assert long[-1] == f"    … and {200 - MAX_TEXT_LINES} more lines of this text"


def test_a_huge_text_is_told_from_where_it_differs_without_being_compared_at_length():
    text = "\n".join(f"line {number}" for number in range(MAX_PIECES + 100))
    lines = diff(text, text.replace("line 1999\n", "line evil\n"))
    assert "characters became" in lines[1]
    assert any("line evil" in line for line in lines)
    assert len(lines) <= MAX_TEXT_LINES + 2
