"""What is read of a schema, and what is told of the rest."""

from typing import Any

import pytest

from bascule.catalog.schema.cost import bound_of
from bascule.catalog.typed.from_schema import (
    MAX_ALTERNATIVES,
    MAX_MEMBERS,
    MAX_REASONS,
    MAX_STRUCTS,
    Read,
    read,
    read_object,
)
from bascule.catalog.typed.shape import ANYTHING, NOTHING, Either, ListOf, MapOf, Options, Plain, Shape, Struct

Schema = dict[str, Any]
TEXT, INTEGER, NULL = Plain("string"), Plain("integer"), Plain("null")


def read_of(schema: Schema) -> Read:
    bound = bound_of(schema)
    assert not isinstance(bound, str), bound
    return read(schema, bound, "T")


def params_of(schema: Schema) -> Read:
    bound = bound_of(schema)
    assert not isinstance(bound, str), bound
    return read_object(schema, bound, "T")


def exact(schema: Schema) -> Shape:
    found = read_of(schema)
    assert found.reasons == ()
    return found.shape


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({}, ANYTHING),
        ({"type": "string", "format": "date", "description": "d", "x-odd": 1}, TEXT),
        ({"type": ["string", "null"]}, Either((TEXT, NULL))),
        ({"type": ["number", "integer"]}, Plain("number")),
        ({"type": "array"}, ListOf(ANYTHING)),
        ({"type": "array", "items": {"type": "string"}}, ListOf(TEXT)),
        ({"type": "array", "items": False}, ListOf(NOTHING)),
        ({"type": "object"}, MapOf(ANYTHING)),
        ({"type": "object", "additionalProperties": {"type": "null"}}, MapOf(NULL)),
        ({"enum": ["a", 1.0, None]}, Either((NULL, Options((("string", "a"), ("integer", 1)))))),
        ({"const": True}, Options((("boolean", True),))),
        ({"type": "string", "enum": ["a", 1]}, Options((("string", "a"),))),
        ({"type": "string", "const": 1}, NOTHING),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, Either((TEXT, NULL))),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, Either((TEXT, NULL))),
        ({"type": "string", "anyOf": [{"type": ["string", "null"]}]}, TEXT),
        ({"allOf": [{"type": "string"}]}, TEXT),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, NULL),
        ({"type": "integer", "minLength": 3}, INTEGER),
        ({"type": "string", "minLength": 0}, TEXT),
    ],
)
def test_a_schema_is_read_exactly(schema: Schema, shape: Shape):
    assert exact(schema) == shape


@pytest.mark.parametrize(
    ("schema", "shape", "reason"),
    [
        ({"type": "string", "pattern": "^a"}, TEXT, "`pattern`"),
        ({"type": "integer", "minimum": 0}, INTEGER, "`minimum`"),
        ({"type": "array", "contains": False}, ListOf(ANYTHING), "`contains`"),
        ({"enum": [1.5]}, Plain("number"), "`enum` of other than text and whole numbers"),
        ({"const": {"a": 1}}, MapOf(ANYTHING), "`const` of other than text and whole numbers"),
        ({"not": {"type": "null"}}, ANYTHING, "`not`"),
        ({"type": "string", "if": {"const": "a"}}, TEXT, "`if`"),
        (
            {"oneOf": [{"type": "string"}, {"enum": ["a", None]}]},
            Either((TEXT, NULL)),
            "only one alternative of `oneOf` may fit",
        ),
        (
            {"anyOf": [{"type": "string"}], "allOf": [{"type": ["string", "null"]}]},
            TEXT,
            "`anyOf` and `allOf`, more than one condition at once",
        ),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}},
            ListOf(ANYTHING),
            "[]: refers to itself without an object between",
        ),
        (
            {"anyOf": [{"const": n} for n in range(MAX_ALTERNATIVES + 1)]},
            ANYTHING,
            "`anyOf` of more than 64 alternatives",
        ),
    ],
)
def test_what_a_type_cannot_say_widens_it_and_is_told(schema: Schema, shape: Shape, reason: str):
    found = read_of(schema)

    assert found.shape == shape
    assert found.reasons == (reason,)


def test_an_object_with_named_members_is_a_struct():
    schema = {
        "type": "object",
        "properties": {"class": {"type": "string", "description": "of it"}, "tags": {"items": {"type": "string"}}},
        "required": ["more", "class"],
        "additionalProperties": {"type": "integer"},
        "description": "words",
    }
    found = read_of(schema)

    assert isinstance(found.shape, Struct)
    assert (found.shape.name, found.shape.description, found.shape.rest) == ("TResult", "words", INTEGER)
    first, second, third = found.shape.members
    assert (first.key, first.name, first.shape, first.required, first.description) == (
        *("class", "class_", TEXT),
        True,
        "of it",
    )
    assert (second.key, second.shape, second.required) == ("more", INTEGER, True)
    assert (third.key, third.required) == ("tags", False)
    assert found.reasons == ()


def test_members_are_ordered_by_whether_they_must_be_given_and_by_name():
    members = ["b", "a", "d", "c"]
    one = read_of({"type": "object", "properties": {name: {} for name in members}, "required": ["d", "b"]})
    other = read_of({"type": "object", "properties": {name: {} for name in members[::-1]}, "required": ["b", "d"]})

    for found in (one, other):
        assert isinstance(found.shape, Struct)
        assert [member.key for member in found.shape.members] == ["b", "d", "a", "c"]


def test_a_struct_may_lead_back_to_itself():
    node = {"type": ["object", "null"], "properties": {"next": {"$ref": "#/$defs/Node"}}}
    found = read_of({"$ref": "#/$defs/Node", "$defs": {"Node": node}})

    assert isinstance(found.shape, Either)
    assert [struct.name for struct in found.structs] == ["TResultNode"]
    (member,) = found.structs[0].members
    assert member.shape.shape == found.shape  # pyright: ignore[reportAttributeAccessIssue] -- met again
    assert found.reasons == ()


def test_one_place_is_one_class_however_often_it_is_referred_to():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/P"}, "b": {"type": "array", "items": {"$ref": "#/$defs/P"}}},
        "$defs": {"P": {"type": "object", "properties": {"x": {"type": "integer"}}}},
    }

    assert [struct.name for struct in read_of(schema).structs] == ["TResult", "TResultP"]


def test_in_draft_7_nothing_stands_beside_a_reference():
    schema = {"$ref": "#/definitions/a", "type": "null", "definitions": {"a": {"type": "string"}}}

    assert exact({"$schema": "http://json-schema.org/draft-07/schema#", **schema}) == TEXT
    assert exact(schema) == NOTHING


def test_arguments_are_one_struct_whatever_the_schema_says():
    for schema in ({"type": "object"}, {"type": ["object", "null"], "additionalProperties": {"type": "null"}}):
        found = params_of(schema)
        assert isinstance(found.shape, Struct)
        assert (found.shape.name, found.shape.members, found.reasons) == ("TParams", (), ())

    choice = params_of(
        {"type": "object", "anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"minProperties": 2}]}
    )
    assert isinstance(choice.shape, Struct)
    assert choice.shape.rest == ANYTHING
    assert choice.reasons != ()


def test_what_is_read_is_bounded():
    objects = {f"p{n}": {"type": "object", "properties": {"x": {}}} for n in range(MAX_STRUCTS + 50)}
    found = read_of({"type": "object", "properties": objects})
    assert len(found.structs) == MAX_STRUCTS
    assert found.reasons

    wide = params_of({"type": "object", "properties": {f"p{n}": {} for n in range(MAX_MEMBERS + 1)}})
    assert isinstance(wide.shape, Struct)
    assert (wide.shape.members, wide.shape.rest) == ((), ANYTHING)
    assert wide.reasons

    texts = read_of({"type": "object", "properties": {f"p{n}": {"type": "string", "minLength": 1} for n in range(100)}})
    assert len(texts.reasons) == MAX_REASONS


def test_alternatives_inside_alternatives_do_not_multiply():
    levels = {
        f"l{n}": {
            "anyOf": [
                {"type": "array", "items": {"$ref": f"#/$defs/l{n + 1}"}},
                {"type": "array", "items": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}, {"const": n}]}},
            ]
        }
        for n in range(10)
    }
    found = read_of({"$ref": "#/$defs/l0", "$defs": {**levels, "l10": {"type": "null"}}})

    assert "holds too many alternatives inside each other" in found.reasons[0]


def test_what_leads_back_to_several_above_it_is_not_written_out_in_each_other():
    inner = {"type": "array", "items": {"$ref": "#/$defs/Outer"}}
    middle = {"type": "object", "properties": {"up": {"$ref": "#/$defs/Middle"}, "list": inner}}
    defs = {
        "Outer": {"type": "object", "properties": {"middle": {"$ref": "#/$defs/Middle"}}},
        "Middle": {"anyOf": [middle, {"type": "array", "items": {"$ref": "#/$defs/Outer"}}]},
    }
    found = read_of({"$ref": "#/$defs/Outer", "$defs": defs})

    assert found.reasons == ("middle: refers to more than itself",)


def test_a_place_in_the_value_is_told_legibly():
    found = read_of({"type": "object", "properties": {"a\u202e": {"type": "string", "maxLength": 3}}})

    assert found.reasons == ("a\\u202e: `maxLength`",)
