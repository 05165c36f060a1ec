"""Signatures of tools."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.signature import MAX_PARAMETERS, signature, type_name


def test_a_signature_marks_what_may_be_left_out():
    schema = {
        "type": "object",
        "properties": {"message": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["message"],
    }

    assert signature("echo", schema) == "echo(message: string, count?: integer)"


def test_required_parameters_come_first():
    schema = {"properties": {"b": {"type": "null"}, "a": {"type": "boolean"}}, "required": ["a"]}

    assert signature("t", schema) == "t(a: boolean, b?: null)"


def test_a_tool_without_parameters_takes_none():
    assert signature("now", {"type": "object"}) == "now()"


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({}, "any"),
        (True, "any"),
        ("nonsense", "any"),
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string|null"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array"}, "any[]"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "(string|null)[]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "array"}}}, "array[][]"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer|null"),
        ({"oneOf": [{"type": "integer"}, {"type": "integer"}]}, "integer"),
        ({"enum": ["a", "b"]}, '"a"|"b"'),
        ({"enum": [1, 2, 3, 4, 5, 6]}, "1|2|3|4|5|…"),
        ({"enum": [{"a": 1}], "type": "object"}, "object"),
        ({"const": "x"}, '"x"'),
        ({"const": None}, "None"),
        ({"$ref": "#/$defs/Address"}, "Address"),
        ({"type": {"odd": 1}}, "any"),
        ({"enum": ["x" * 30] * 3}, "any"),
    ],
)
def test_types_are_told_in_a_word(schema: Any, name: str):
    assert type_name(schema) == name


def test_of_many_parameters_only_some_are_shown_and_the_required_ones_first():
    schema = {"properties": {f"p{n}": {} for n in range(30)}, "required": ["p29"]}
    shown = signature("t", schema)

    assert shown.startswith("t(p29: any, ")
    assert shown.endswith(", …)")
    assert shown.count(":") == MAX_PARAMETERS


def test_names_that_would_upset_a_terminal_are_escaped():
    shown = signature("t\x1b", {"properties": {"a\nb": {"type": "\u202e"}}})

    assert shown.isprintable()


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=80),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "enum", "const", "anyOf", "items", "$ref", "a"]), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(st.text(max_size=300), st.dictionaries(st.text(max_size=50), json_values, max_size=20), json_values)
def test_any_schema_has_a_short_printable_signature(tool: str, properties: dict[str, Any], required: Any):
    shown = signature(tool, {"properties": properties, "required": required})

    assert shown.isprintable()
    assert len(shown) < 3000
