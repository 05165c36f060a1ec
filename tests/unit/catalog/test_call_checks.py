"""Calls held against their tools."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from bascule.catalog.call_checks import check_arguments, check_result
from bascule.catalog.entry import Entry, make_entry
from bascule.core.errors import InvalidArguments, ProtocolViolation, Refused
from bascule.core.tool import ToolKey

ECHO: dict[str, Any] = {
    "type": "object",
    "properties": {"message": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
    "required": ["message"],
}


def entry_of(schema: Any = None, output: Any = None) -> Entry:
    definition = {"name": "echo", "inputSchema": ECHO if schema is None else schema, "outputSchema": output}
    return make_entry(definition, ToolKey("everything", "echo"), "everything_echo")


def refused(arguments: Mapping[str, Any], schema: Any = None) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as caught:
        check_arguments(entry_of(schema), arguments)
    return caught.value


def test_good_arguments_pass():
    check_arguments(entry_of(), {"message": "hi", "count": 2})
    check_arguments(entry_of(), {"message": "hi"})


def test_a_missing_argument_is_named_with_the_signature():
    assert refused({}).message == (
        "everything_echo: missing argument 'message' — echo(message: string, count?: integer)"
    )


def test_all_missing_arguments_are_named():
    schema = {"type": "object", "required": ["a", "b"], "properties": {"a": {}, "b": {}}}

    assert "missing arguments 'a', 'b'" in refused({}, schema).message


def test_a_wrong_argument_is_told_with_what_is_wrong():
    error = refused({"message": 7, "count": 0})

    assert "argument 'message' must be string, not integer" in error.message
    assert "argument 'count' is less than 1" in error.message
    assert error.evidence == "message must be string, not integer\ncount is less than 1"
    assert "bascule inspect everything_echo" in error.fix


def test_a_value_is_not_repeated():
    assert "hunter2" not in refused({"message": "a", "count": "hunter2"}).message


def test_what_is_wrong_with_the_whole_is_told_too():
    assert "the arguments: fits none" in refused({}, {"type": "object", "anyOf": [{"minProperties": 1}, False]}).message


@pytest.mark.parametrize("value", [object(), "\ud800", {object()}], ids=["object", "surrogate", "set"])
def test_arguments_that_are_not_json_are_refused(value: Any):
    assert "not JSON" in refused({"message": value}).message


def test_what_is_checked_is_what_travels():
    """A Decimal travels as text, and a number as a key travels as text too."""
    assert (
        "must be number, not string"
        in refused({"a": Decimal("1.5")}, {"type": "object", "properties": {"a": {"type": "number"}}}).message
    )
    odd: Any = {1: "x"}
    assert "must be integer" in refused(odd, {"type": "object", "properties": {"1": {"type": "integer"}}}).message


def test_a_number_that_is_none_travels_as_null_and_does_not_pass_for_a_number():
    assert "must be integer, not null" in refused({"message": "a", "count": float("nan")}).message


def test_arguments_too_deep_are_refused():
    deep: Any = {}
    for _ in range(300):
        deep = {"a": deep}

    assert "nests deeper than" in refused({"message": "a", "x": deep}).message


def test_a_tool_that_cannot_be_used_is_refused_by_its_rule():
    with pytest.raises(Refused, match="always an object") as caught:
        check_arguments(entry_of({"type": "string"}), {})

    assert caught.value.rule == "tool_is_usable"


def test_an_input_schema_that_is_none_is_the_servers_fault():
    with pytest.raises(ProtocolViolation, match="not valid JSON Schema"):
        check_arguments(entry_of({"type": "object", "patternProperties": {"(": True}}), {})


ROWS = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}, "required": ["rows"]}


def test_a_result_as_promised_passes():
    check_result(entry_of(output=ROWS), {"content": [], "structuredContent": {"rows": [1]}})


def test_without_a_promise_any_result_passes():
    check_result(entry_of(), {"content": []})
    check_result(entry_of(), {"content": [], "structuredContent": "anything"})


def test_an_error_needs_not_be_as_promised():
    check_result(entry_of(output=ROWS), {"content": [], "isError": True})
    check_result(entry_of(output=ROWS), {"content": [], "isError": True, "structuredContent": {"message": "no"}})


def test_a_promise_without_structured_content_is_broken():
    with pytest.raises(ProtocolViolation, match=r"everything/echo does not fit its output schema: .* sent none"):
        check_result(entry_of(output=ROWS), {"content": []})


@pytest.mark.parametrize(
    ("structured", "problem"),
    [
        ({"rows": [1, "x"]}, r"structuredContent\.rows\[1\] must be integer, not string"),
        ({}, r"structuredContent\.rows is missing"),
        ([], "structuredContent must be object, not array"),
        (None, "structuredContent must be object, not null"),
    ],
)
def test_structured_content_that_does_not_fit_is_told_where(structured: Any, problem: str):
    with pytest.raises(ProtocolViolation, match=problem):
        check_result(entry_of(output=ROWS), {"content": [], "structuredContent": structured})


def test_a_promise_may_be_of_something_else_than_an_object():
    check_result(entry_of(output={"type": ["string", "null"]}), {"structuredContent": None})
    with pytest.raises(ProtocolViolation, match=r"structuredContent\[0\] must be"):
        check_result(entry_of(output={"type": "array", "items": {"type": "string"}}), {"structuredContent": [1]})


def test_what_does_not_fit_a_part_with_a_uri_is_told_like_anything_else():
    schema = {
        "$id": "https://example.test/params",
        "type": "object",
        "properties": {"people": {"type": "array", "items": {"$ref": "person"}}, "note": {"$dynamicRef": "#text"}},
        "$defs": {
            "p": {
                "$id": "person",
                "type": "object",
                "properties": {"age": {"$ref": "#/$defs/n"}},
                "$defs": {"n": {"minimum": 0}},
            },
            "t": {"$dynamicAnchor": "text", "type": "string"},
        },
    }

    assert refused({"people": [{"age": 1}, {"age": -1}]}, schema).message == (
        "everything_echo: argument 'people[1].age' is less than 0 — echo(people?: person[], note?: text)"
    )
    assert "argument 'note' must be string, not integer" in refused({"note": 7}, schema).message
