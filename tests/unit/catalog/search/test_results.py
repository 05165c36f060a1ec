"""What an agent is shown of the tools that were found."""

from typing import Any

import msgspec
import pytest

from bascule.catalog.search.index import Found
from bascule.catalog.search.results import MOST_DESCRIPTION, MOST_SCHEMA, MOST_SHOWN, shown, shown_schema, shown_tool
from bascule.core.tool import ToolKey, ToolSpec


def a_spec(name: str = "work_act", schema: dict[str, Any] | None = None, description: str = "Acts.") -> ToolSpec:
    return ToolSpec(name, ToolKey("work", name), "sha256:0", description, input_schema=schema or {"type": "object"})


def size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def large(arguments: int, said: int = 200) -> dict[str, Any]:
    properties = {f"argument_{at}": {"type": "string", "description": "x" * said} for at in range(arguments)}
    return {"type": "object", "properties": properties, "required": [*properties], "$defs": {"junk": "y" * 100}}


def test_a_small_tool_is_shown_whole():
    schema = {"type": "object", "properties": {"path": {"type": "string", "minLength": 1}}, "required": ["path"]}

    assert shown_tool(a_spec(schema=schema)) == {"name": "work_act", "description": "Acts.", "input_schema": schema}


def test_a_schema_that_is_too_long_loses_what_is_said_before_what_is_meant():
    schema, whole = shown_schema(large(25))

    assert not whole
    assert size(schema) <= MOST_SCHEMA
    assert [*schema["properties"]] == [f"argument_{at}" for at in range(25)]
    assert schema["properties"]["argument_3"]["type"] == "string"
    assert schema["properties"]["argument_3"]["description"].endswith("…")
    assert len(schema["required"]) == 25


def test_a_schema_loses_its_depth_first():
    inner = {"type": "object", "description": "Deep.", "properties": {"far": {"type": "array", "items": large(30)}}}
    schema, whole = shown_schema({"type": "object", "properties": {"near": inner, "other": {"type": "integer"}}})

    assert not whole
    assert size(schema) <= MOST_SCHEMA
    assert schema["properties"]["near"]["description"] == "Deep."
    assert schema["properties"]["other"] == {"type": "integer"}


@pytest.mark.parametrize(
    "schema",
    [
        large(5000),
        large(3, said=100_000),
        {"type": "object", "properties": {"x" * 9000: {"enum": ["y" * 900] * 900}}},
        {"type": "object", "properties": {"a": {"anyOf": [large(500)] * 30}}},
        {"type": "object", "properties": [], "required": "a", "description": "z" * 9000, "items": 7},
        {"type": ["z" * 9000] * 50},
    ],
)
def test_no_schema_is_shown_longer_than_that_by_much(schema: dict[str, Any]):
    shortened, whole = shown_schema(schema)

    assert not whole
    assert size(shortened) <= 2 * MOST_SCHEMA


def test_who_is_shown_less_is_told_so():
    tool = shown_tool(a_spec(schema=large(100), description="d" * 5000))

    assert "shortened" in tool["note"]
    assert len(tool["description"]) == MOST_DESCRIPTION


def test_an_answer_never_fills_a_context_and_says_how_many_more_there_are():
    found = Found(tuple(a_spec(f"work_{at}", large(25)) for at in range(20)), 300)
    answer = shown(found, ["work"])

    assert size(answer) < MOST_SHOWN + 500
    assert 1 <= len(answer["tools"]) < 20
    assert answer["more"] == 300 - len(answer["tools"])
    assert str(answer["more"]) in answer["hint"]


def test_where_all_is_shown_nothing_more_is_said():
    assert shown(Found((a_spec(),), 1), ["work"]).keys() == {"tools"}


def test_where_nothing_fits_it_is_said_what_there_is():
    assert "files, work" in shown(Found((), 0), ["files", "work"])["hint"]
