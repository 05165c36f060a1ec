"""Explanations of what does not fit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.schema.explain import MAX_PROBLEMS, VAGUE, explained, kind_of
from bascule.catalog.schema.validator import Problem, Validator, compile_schema

Schema = dict[str, Any]


def told(schema: Schema, value: Any) -> list[str]:
    return [f"{problem.path}: {problem.message}" for problem in problems_of(compile_schema(schema), value)]


def problems_of(validator: Validator, value: Any) -> list[Problem]:
    """As for a call: only what does not fit is explained."""
    return [] if validator.is_valid(value) else explained(validator, value)


PERSON: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "age": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
        "friends": {"type": "array", "items": {"$ref": "#/$defs/Person"}, "maxItems": 3},
        "role": {"enum": ["admin", "user"]},
        "home": {"$ref": "#/$defs/Address"},
    },
    "required": ["name"],
    "additionalProperties": False,
}
SCHEMA: Schema = {
    **PERSON,
    "$defs": {
        "Person": PERSON,
        "Address": {"type": "object", "properties": {"a/b ~%": {"type": "string"}}, "required": ["street"]},
    },
}


def test_a_value_that_fits_has_no_problems():
    assert told(SCHEMA, {"name": "Ann", "age": None}) == []


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ({}, ["name: is missing"]),
        ({"name": "Ann", "nme": 1}, ["nme: is not expected"]),
        ({"name": 7}, ["name: must be string, not integer"]),
        ({"name": "A"}, ["name: is shorter than 2 characters"]),
        ({"name": "Ann", "age": -1}, ["age: is less than 0"]),
        ({"name": "Ann", "age": "x"}, ["age: fits none of the 2 alternatives"]),
        ({"name": "Ann", "role": "boss"}, ["role: must be one of 'admin', 'user'"]),
        ({"name": "Ann", "friends": {}}, ["friends: must be array, not object"]),
        ({"name": "Ann", "friends": [{}]}, ["friends[0].name: is missing"]),
        (
            {"name": "Ann", "friends": [{"name": "Bob"}, {"name": "Cy", "friends": [{"name": None}]}]},
            ["friends[1].friends[0].name: must be string, not null"],
        ),
        ({"name": "Ann", "friends": [{"name": "Bob"}] * 4}, ["friends: has more than 3 elements"]),
        ({"name": "Ann", "home": {}}, ["home.street: is missing"]),
        ({"name": "Ann", "home": {"street": 1, "a/b ~%": 2}}, ["home.a/b ~%: must be string, not integer"]),
        (
            {"age": 1.5, "role": 3},
            ["name: is missing", "age: fits none of the 2 alternatives", "role: must be one of 'admin', 'user'"],
        ),
        ([], [": must be object, not array"]),
    ],
    ids=str,
)
def test_each_problem_is_told_with_its_place(value: Any, problems: list[str]):
    assert told(SCHEMA, value) == problems


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"const": "x"}, "y", ": must be 'x'"),
        ({"pattern": "^a"}, "b", ": does not match '^a'"),
        ({"maxLength": 1}, "ab", ": is longer than 1 characters"),
        ({"maximum": 5}, 6, ": is more than 5"),
        ({"exclusiveMinimum": 5}, 5, ": must be more than 5"),
        ({"exclusiveMaximum": 5}, 5, ": must be less than 5"),
        ({"multipleOf": 2}, 3, ": is not a multiple of 2"),
        ({"minItems": 1}, [], ": has fewer than 1 elements"),
        ({"uniqueItems": True}, [1, 1], ": has the same element twice"),
        ({"minProperties": 1}, {}, ": has fewer than 1 members"),
        ({"maxProperties": 0}, {"a": 1}, ": has more than 0 members"),
        ({"type": ["string", "null"]}, 1, ": must be string or null, not integer"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1, ": fits 2 of the alternatives, where only one may fit"),
        (
            {
                "anyOf": [{"type": "integer"}, {"$ref": "#/$defs/o"}],
                "$defs": {"o": {"type": "object", "required": ["k"]}},
            },
            {},
            "k: is missing",
        ),
        ({"allOf": [True, {"required": ["z"]}]}, {}, "z: is missing"),
        ({"additionalProperties": {"type": "integer"}}, {"a": "x"}, "a: must be integer, not string"),
        ({"properties": {"a": False}}, {"a": 1}, "a: is not expected"),
        ({"not": {"type": "string"}}, "a", f": {VAGUE}"),
        ({"propertyNames": {"pattern": "^a"}}, {"b": 1}, f": {VAGUE}"),
        ({"prefixItems": [{"type": "string"}]}, [1], f": {VAGUE}"),
        ({"items": {"type": "integer"}}, ["x"], "[0]: must be integer, not string"),
        (
            {"$ref": "#/$defs/a", "maxLength": 1, "$defs": {"a": {"type": "string"}}},
            "ab",
            ": is longer than 1 characters",
        ),
        ({"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "string"}}}, 1, ": must be string, not integer"),
    ],
    ids=str,
)
def test_every_word_has_its_sentence(schema: Schema, value: Any, problem: str):
    assert told(schema, value) == [problem]


def test_old_drafts_are_explained_in_their_own_terms():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"a": {"$ref": "#/definitions/x"}},
        "definitions": {"x": {"items": [{"type": "string"}], "type": "array"}},
    }
    assert told(schema, {"a": 1}) == ["a: must be array, not integer"]


def test_no_more_than_a_few_problems_are_told():
    schema = {"properties": {f"p{number}": {"type": "string"} for number in range(50)}}

    assert len(told(schema, {f"p{number}": number for number in range(50)})) == MAX_PROBLEMS


def test_values_are_not_repeated():
    schema = {"properties": {"a": {"enum": ["x"]}, "b": {"pattern": "^y$"}, "c": {"type": "integer"}}}
    secret = "hunter2" * 1000

    assert "hunter2" not in str(told(schema, {"a": secret, "b": secret, "c": secret}))


def test_long_names_options_and_patterns_are_cut():
    schema = {
        "additionalProperties": False,
        "properties": {"a": {"enum": ["y" * 500] * 9}, "b": {"pattern": "z" * 900}},
    }

    assert len(str(told(schema, {"x" * 10_000: 1, "a": 1, "b": "q", "\x1b": 2}))) < 1500
    assert "\x1b" not in "".join(told(schema, {"\x1b": 2}))


def expression() -> Schema:
    def branch(word: str) -> Schema:
        arguments = {"type": "array", "items": {"$ref": "#/$defs/E"}}
        return {"type": "object", "properties": {"args": arguments, "op": {"const": word}}, "required": ["op", "args"]}

    return {"$ref": "#/$defs/E", "$defs": {"E": {"anyOf": [branch("and"), branch("or"), {"type": "string"}]}}}


def test_unions_inside_unions_are_explained_at_once():
    """The library's own explanation of this one doubles with every level."""
    value: Any = 7
    for _ in range(30):
        value = {"op": "or", "args": [value]}

    assert told(expression(), value) == [": fits none of the 3 alternatives"]


def test_of_a_value_too_costly_to_take_apart_the_whole_is_told():
    schema = {"type": "object", "properties": {"rows": {"items": {"type": "integer"}}}, "required": ["name"]}
    value = {"rows": [0] * 200_000 + ["x"]}

    assert told(schema, value) == ["name: is missing"]
    assert told(schema, value | {"name": 1}) == [f": {VAGUE}"]


def test_a_value_that_cannot_be_checked_is_told_why():
    assert told({"type": "object"}, {"a": object()}) == [
        ": is not JSON: Encoding objects of type object is unsupported"
    ]
    assert "nests deeper" in told({"type": "array"}, deep(500))[0]


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def test_a_large_schema_is_explained_only_as_far_as_it_pays():
    schema = {"properties": {f"p{number}": {"minLength": 3} for number in range(3000)}}

    assert told(schema, {"p0": "a"}) == ["p0: is shorter than 3 characters"]
    assert told(schema, {f"p{number}": "abc" for number in range(10)} | {"p2000": "a"}) == [f": {VAGUE}"]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "boolean"),
        ("", "string"),
        (1, "integer"),
        (1.0, "number"),
        ([], "array"),
        ({}, "object"),
        (b"", "bytes"),
    ],
)
def test_kinds_are_named_as_json_does(value: Any, kind: str):
    assert kind_of(value) == kind


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*PERSON["properties"], "street", "op", "args"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values, st.sampled_from([SCHEMA, expression()]))
def test_a_value_has_problems_exactly_if_it_does_not_fit(value: Any, schema: Schema):
    validator = compile_schema(schema)
    problems = problems_of(validator, value)

    assert bool(problems) is not validator.is_valid(value)
    assert len(problems) <= MAX_PROBLEMS
