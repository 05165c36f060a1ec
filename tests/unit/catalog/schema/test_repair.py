"""Repair of sloppy JSON Schemas, older drafts and OpenAPI included."""

import copy
from typing import Any

import pytest

from bascule.catalog.schema.repair import (
    HABITS,
    MAX_NOTES,
    OF_HABITS,
    RULES,
    Place,
    Unmendable,
    exclusive_flags,
    mended_schema,
    nullable,
    required_inside,
    without_flag,
)
from bascule.catalog.schema.validator import compile_schema

MENDED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"properties": None}, {}, "`properties` is null"),
    ({"required": None}, {}, "`required` is null"),
    ({"additionalProperties": None}, {}, "is null"),
    ({"properties": []}, {"properties": {}}, "an empty list"),
    ({"properties": {"a": None}}, {"properties": {"a": {}}}, "properties.a: it is null; any value is passed on"),
    ({"properties": {"a": "string"}}, {"properties": {"a": {"type": "string"}}}, "a schema of that type"),
    ({"required": "a"}, {"required": ["a"]}, "one name"),
    ({"required": ["a", "b", "a"]}, {"required": ["a", "b"]}, "twice"),
    ({"required": True}, {}, "left out"),
    ({"type": "Object"}, {"type": "object"}, "read as object"),
    ({"type": " object "}, {"type": "object"}, "read as object"),
    ({"type": "str"}, {"type": "string"}, "read as string"),
    ({"type": ["String", "null"]}, {"type": ["string", "null"]}, "read as string"),
    ({"type": ["string", "string"]}, {"type": ["string"]}, "twice"),
    ({"type": "any"}, {}, "any type is passed on"),
    ({"type": ["string", "any"]}, {}, "any type is passed on"),
    ({"description": 7}, {}, "`description` is not text"),
    ({"title": ["x"], "format": {}}, {}, "`title` is not text"),
    ({"$schema": 4}, {}, "`$schema` is not text"),
    ({"deprecated": "yes"}, {}, "left out"),
    ({"uniqueItems": "true"}, {"uniqueItems": True}, "read as true"),
    ({"additionalProperties": "False"}, {"additionalProperties": False}, "read as false"),
    ({"minimum": "1"}, {"minimum": 1}, "the number 1"),
    ({"maximum": "1.5"}, {"maximum": 1.5}, "the number 1.5"),
    ({"maxLength": "10"}, {"maxLength": 10}, "the number 10"),
    ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}, "draft 4"),
    ({"type": "string", "nullable": True}, {"type": ["string", "null"], "nullable": True}, "null is passed on"),
    ({"enum": []}, {}, "`enum` lists nothing; any value is passed on"),
    ({"enum": "a"}, {"enum": ["a"]}, "one value"),
    ({"enum": ["a", "b", "a"]}, {"enum": ["a", "b"]}, "twice"),
    ({"enum": [1, 1.0, True]}, {"enum": [1, True]}, "twice"),
    ({"examples": "a"}, {"examples": ["a"]}, "one example"),
    ({"anyOf": {"type": "string"}}, {"anyOf": [{"type": "string"}]}, "one schema"),
    ({"allOf": []}, {}, "`allOf` lists nothing"),
    ({"items": {"type": "Int"}}, {"items": {"type": "integer"}}, "items: `type`"),
    ({"items": [{"type": "Int"}]}, {"items": [{"type": "integer"}]}, "items[0]: `type`"),
    ({"items": []}, {}, "`items` lists nothing"),
    ({"$defs": {"a": {"required": True}}}, {"$defs": {"a": {}}}, "$defs.a: "),
    ({"dependencies": {"a": ["b", "b"]}}, {"dependencies": {"a": ["b"]}}, "twice"),
]

TIDY: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": ["string", "null"], "default": None, "const": None}}},
    {"required": ["a", "not there"], "properties": {}},
    {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"},
    {"$schema": "https://json-schema.org/draft/2019-09/schema", "type": "object"},
    {"items": [{}], "additionalItems": False, "enum": [None, 0, False, "", [], {}]},
    {"x-unknown": None, "unheard-of": {"type": "Object"}, "examples": [{"type": "Object", "required": True}]},
    {"default": {"type": "Object"}, "const": {"required": True}, "enum": [{"properties": None}]},
    {"dependentRequired": {"a": ["b"]}, "dependencies": {"a": ["b"], "c": {"type": "object"}}},
    {"minimum": 1, "exclusiveMaximum": 2.5, "minLength": 0, "multipleOf": 0.5, "uniqueItems": True},
    {"if": {"type": "object"}, "then": True, "else": False, "not": {}},
]

BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"type": "file"}, "no type of JSON"),
    ({"type": []}, "names no type"),
    ({"type": {"x": 1}}, "names no type"),
    ({"type": ["string", {"x": 1}]}, "no name of a type"),
    ({"properties": ["a"]}, "`properties` is not an object"),
    ({"properties": {"a": {"properties": 7}}}, "properties.a: `properties` is not an object"),
    ({"properties": {"a": [1]}}, "not a schema"),
    ({"items": {"items": "what"}}, "items.items: it is not a schema but 'what'"),
    ({"required": [1]}, "not a list of names"),
    ({"required": {"a": 1}}, "not a list of names"),
    ({"pattern": 7}, "`pattern` is not text"),
    ({"$ref": 7}, "`$ref` is not text"),
    ({"minimum": "low"}, "not a number"),
    ({"minimum": "nan"}, "not a number"),
    ({"minimum": [1]}, "not a number"),
    ({"minLength": -1}, "not a whole number"),
    ({"minLength": 1.5}, "not a whole number"),
    ({"minLength": True}, "not a number"),
    ({"uniqueItems": "maybe"}, "neither true nor false"),
    ({"enum": {"a": 1}}, "not a list of values"),
    ({"anyOf": "x"}, "not a list of schemas"),
    ({"dependentRequired": {"a": "b"}}, "lists of names"),
]


@pytest.mark.parametrize(("schema", "meant", "note"), MENDED, ids=[str(row[0]) for row in MENDED])
def test_what_is_sloppy_is_read_as_it_was_meant_with_a_note(schema: dict[str, Any], meant: dict[str, Any], note: str):
    before = copy.deepcopy(schema)
    mended, notes = mended_schema(schema)

    assert mended == meant
    assert note in "; ".join(notes)
    assert schema == before, "the digest is over the schema as it came"


@pytest.mark.parametrize("schema", [row[0] for row in MENDED], ids=str)
def test_what_was_mended_is_a_schema_and_is_not_mended_again(schema: dict[str, Any]):
    mended, _ = mended_schema(schema)

    compile_schema(mended)
    again, notes = mended_schema(mended)
    assert (again, notes) == (mended, ())
    assert again is mended


@pytest.mark.parametrize("schema", TIDY, ids=str)
def test_what_is_tidy_is_left_alone(schema: dict[str, Any]):
    mended, notes = mended_schema(schema)

    assert mended is schema
    assert notes == ()


@pytest.mark.parametrize(("schema", "reason"), BROKEN, ids=[str(row[0]) for row in BROKEN])
def test_what_nobody_can_read_is_not_guessed_at(schema: dict[str, Any], reason: str):
    with pytest.raises(Unmendable) as caught:
        mended_schema(schema)
    assert reason in str(caught.value)


def test_a_constraint_that_is_mended_still_holds():
    mended, _ = mended_schema(
        {
            "type": "Object",
            "properties": {"n": {"type": "int", "minimum": "1", "exclusiveMinimum": True, "required": True}},
            "additionalProperties": "false",
        }
    )
    validator = compile_schema(mended)

    assert validator.is_valid({"n": 2})
    for wrong in ({"n": 1}, {"n": "2"}, {}, {"n": 2, "m": 1}):
        assert not validator.is_valid(wrong)


def test_many_notes_are_counted():
    _, notes = mended_schema({"properties": {f"p{n}": {"type": "Int"} for n in range(100)}})

    assert len(notes) == MAX_NOTES + 1
    assert notes[-1] == f"and {100 - MAX_NOTES} more such notes"


def test_a_schema_too_deep_to_be_read_is_refused():
    schema: dict[str, Any] = {}
    for _ in range(100_000):
        schema = {"not": schema}

    with pytest.raises(Unmendable, match="too deep"):
        mended_schema(schema)


@pytest.mark.parametrize("word", sorted(RULES))
def test_no_value_of_a_known_word_gets_through_that_the_validator_would_refuse(word: str):
    """Whatever a word is given, the schema is a schema afterwards or is refused by name."""
    for value in (None, True, False, 0, -1, 1.5, "", "x", "object", "7", [], [1], ["a"], [{}], {}, {"a": 1}, {"a": {}}):
        if (word, value) in KNOWN_TO_THE_VALIDATOR_ALONE:
            continue
        try:
            mended, _ = mended_schema({word: value})
        except Unmendable:
            continue
        if not word.startswith("$"):  # where references lead is judged elsewhere
            compile_schema(mended)


KNOWN_TO_THE_VALIDATOR_ALONE: list[tuple[str, Any]] = [("multipleOf", 0), ("multipleOf", -1)]
"""Numbers of the right kind that are out of bounds."""


def test_a_note_says_where_it_belongs():
    notes: list[str] = []
    top = Place(notes)
    top.note("at the top")
    top.below("properties").below("a").note("deep")

    assert notes == ["at the top", "properties.a: deep"]


def test_what_cannot_be_mended_says_where_it_is():
    assert str(Place([]).below("items").unmendable("bad")) == "items: bad"
    assert str(Place([]).unmendable("bad")) == "bad"


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
