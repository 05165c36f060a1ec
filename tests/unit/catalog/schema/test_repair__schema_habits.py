"""Habits of older drafts and of OpenAPI."""

from typing import Any

import pytest

from bascule.catalog.schema.repair import (
    HABITS,
    OF_HABITS,
    Place,
    exclusive_flags,
    nullable,
    required_inside,
    without_flag,
)


def at() -> tuple[list[str], Place]:
    notes: list[str] = []
    return notes, Place(notes)


def test_a_flag_inside_of_a_property_makes_it_required():
    notes, place = at()
    schema = {
        "properties": {"a": {"type": "string", "required": True}, "b": {"required": False}, "c": {}},
        "required": ["c"],
    }

    assert required_inside(schema, place) == {
        "properties": {"a": {"type": "string"}, "b": {}, "c": {}},
        "required": ["c", "a"],
    }
    assert [note.partition(":")[0] for note in notes] == ["properties.a", "properties.b"]


@pytest.mark.parametrize("schema", [{}, {"properties": []}, {"properties": {"a": True, "b": {"required": ["x"]}}}])
def test_without_such_a_flag_nothing_changes(schema: dict[str, Any]):
    notes, place = at()

    assert required_inside(schema, place) is schema
    assert notes == []


def test_a_flag_that_belongs_to_no_property_says_nothing():
    notes, place = at()

    assert without_flag({"type": "object", "required": True}, place) == {"type": "object"}
    assert "left out" in notes[0]


@pytest.mark.parametrize(
    ("schema", "meant"),
    [
        ({"minimum": 3, "exclusiveMinimum": True}, {"exclusiveMinimum": 3}),
        ({"maximum": 3, "exclusiveMaximum": False}, {"maximum": 3}),
        ({"minimum": 1, "maximum": 3, "exclusiveMaximum": True}, {"minimum": 1, "exclusiveMaximum": 3}),
        ({"exclusiveMinimum": True}, {}),
    ],
)
def test_a_flag_beside_a_limit_says_whether_the_limit_is_allowed(schema: dict[str, Any], meant: dict[str, Any]):
    notes, place = at()

    assert exclusive_flags(schema, place) == meant
    assert "draft 4" in notes[0]


def test_a_limit_that_is_a_number_stays():
    schema = {"exclusiveMinimum": 3}

    assert exclusive_flags(schema, Place([])) is schema


@pytest.mark.parametrize(
    ("kind", "meant"), [("string", ["string", "null"]), (["string", "integer"], ["string", "integer", "null"])]
)
def test_what_is_nullable_takes_null_too(kind: Any, meant: list[str]):
    notes, place = at()

    assert nullable({"type": kind, "nullable": True}, place)["type"] == meant
    assert "null" in notes[0]


@pytest.mark.parametrize(
    "schema",
    [{"type": "string", "nullable": False}, {"nullable": True}, {"type": ["string", "null"], "nullable": True}],
)
def test_where_that_says_nothing_nothing_changes(schema: dict[str, Any]):
    assert nullable(schema, Place([])) is schema


@pytest.mark.parametrize("word", sorted(OF_HABITS))
def test_every_habit_is_looked_for_where_one_of_its_words_stands(word: str):
    values = {"nullable": True, "properties": {"a": {"required": True}}}
    schema = {"type": "string", "minimum": 1, "maximum": 2, word: values.get(word, True)}

    assert any(habit(schema, Place([])) is not schema for habit in HABITS)
