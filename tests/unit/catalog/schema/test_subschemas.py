"""Where in a schema schemas stand."""

from typing import Any

import pytest

from bascule.catalog.schema.subschemas import is_part, parts_of, with_parts

SCHEMA: dict[str, Any] = {
    "properties": {"a": {"const": 1}, "enum": {"const": 2}},
    "items": {"const": 3},
    "anyOf": [{"const": 4}, {"const": 5}],
    "dependencies": {"x": ["y"], "z": {"const": 6}},
    "enum": [{"const": 7}],
    "default": {"const": 8},
    "x-other": {"not": {"const": 9}},
}


def test_schemas_below_are_found_where_they_can_stand():
    found = [part["const"] for part in parts_of(SCHEMA) if isinstance(part, dict)]

    assert sorted(found) == [1, 2, 3, 4, 5, 6]


def test_items_can_be_one_or_many():
    assert list(parts_of({"items": [{"const": 1}, True]})) == [{"const": 1}, True]


def test_they_can_be_exchanged_and_all_else_stays():
    def doubled(part: Any) -> Any:
        return {"const": part["const"] * 2} if isinstance(part, dict) else part

    assert with_parts(SCHEMA, doubled) == {
        **SCHEMA,
        "properties": {"a": {"const": 2}, "enum": {"const": 4}},
        "items": {"const": 6},
        "anyOf": [{"const": 8}, {"const": 10}],
        "dependencies": {"x": ["y"], "z": {"const": 12}},
    }
    assert SCHEMA["items"] == {"const": 3}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], True),
        (["items"], True),
        (["properties", "a"], True),
        (["anyOf", "1"], True),
        (["properties"], False),
        (["properties", "a", "const"], False),
        (["enum", "0"], False),
        (["x-other"], False),
        (["x-other", "not"], False),
        (["absent"], False),
    ],
)
def test_steps_lead_to_a_schema_or_not(steps: list[str], expected: bool):
    assert is_part(SCHEMA, steps) is expected
