"""The cost of schemas: ordinary ones pass, hostile ones do not."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.schema.cost import MAX_MATCH, MAX_PLACES, MAX_VISITS, Bound, bound_of, match_of

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
NULLABLE: Schema = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "title": "Count"}

MAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"

ORDINARY: dict[str, Schema] = {
    "nothing said": {},
    "no parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    "flat, as written by hand": {
        "type": "object",
        "properties": {"path": STRING, "head": {"type": "number"}, "tail": {"type": "number"}},
        "required": ["path"],
        "$schema": "http://json-schema.org/draft-07/schema#",
    },
    "a pydantic model with definitions": {
        "$defs": {
            "Label": {"properties": {"name": STRING, "colour": {"enum": ["red", "blue"]}}, "type": "object"},
            "Issue": {
                "properties": {
                    "title": {"maxLength": 256, "minLength": 1, **STRING},
                    "count": NULLABLE,
                    "labels": {"items": {"$ref": "#/$defs/Label"}, "type": "array"},
                    "extra": {"additionalProperties": True, "type": "object"},
                },
                "required": ["title"],
                "type": "object",
            },
        },
        "properties": {"issue": {"$ref": "#/$defs/Issue"}, "dry_run": {"default": False, "type": "boolean"}},
        "required": ["issue"],
        "type": "object",
    },
    "a tree": {
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"name": STRING, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            }
        },
        "$ref": "#/$defs/Node",
    },
    "a list linked by an optional": {
        "type": "object",
        "properties": {"value": STRING, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
    },
    "any JSON value": {
        "$defs": {
            "Json": {
                "anyOf": [
                    {"type": ["string", "number", "boolean", "null"]},
                    {"type": "array", "items": {"$ref": "#/$defs/Json"}},
                    {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
                ]
            }
        },
        "type": "object",
        "properties": {"payload": {"$ref": "#/$defs/Json"}},
    },
    "a filter of ands and ors": {
        "$defs": {
            "Filter": {"oneOf": [{"$ref": "#/$defs/And"}, {"$ref": "#/$defs/Or"}, {"$ref": "#/$defs/Test"}]},
            "And": {
                "type": "object",
                "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}},
                "required": ["and"],
            },
            "Or": {
                "type": "object",
                "properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}},
                "required": ["or"],
            },
            "Test": {
                "type": "object",
                "properties": {"field": STRING, "op": {"enum": ["eq", "lt"]}, "value": True},
                "required": ["field", "op"],
                "additionalProperties": False,
            },
        },
        "type": "object",
        "properties": {"filter": {"$ref": "#/$defs/Filter"}},
    },
    "twenty kinds of block, nested": {
        "$defs": {
            "Block": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {
                            "type": {"const": f"kind{number}"},
                            "children": {"type": "array", "items": {"$ref": "#/$defs/Block"}},
                        },
                        "required": ["type"],
                    }
                    for number in range(20)
                ]
            }
        },
        "type": "object",
        "properties": {"blocks": {"type": "array", "items": {"$ref": "#/$defs/Block"}}},
    },
    "expressions and statements of each other": {
        "$defs": {
            "Expression": {
                "anyOf": [
                    {"type": "object", "properties": {"call": {"$ref": "#/$defs/Expression"}}},
                    {"type": "object", "properties": {"do": {"$ref": "#/$defs/Statement"}}},
                    {"type": "number"},
                ]
            },
            "Statement": {
                "type": "object",
                "properties": {
                    "value": {"$ref": "#/$defs/Expression"},
                    "then": {"type": "array", "items": {"$ref": "#/$defs/Statement"}},
                },
            },
        },
        "$ref": "#/$defs/Statement",
    },
    "mail, ids and dates by pattern": {
        "type": "object",
        "properties": {
            "mail": {"format": "email", "pattern": MAIL, **STRING},
            "id": {"pattern": UUID, **STRING},
            "day": {"pattern": r"^\d{4}-\d{2}-\d{2}$", **STRING},
            "slug": {"pattern": "^[a-z0-9]+(?:-[a-z0-9]+)*$", **STRING},
            "name": {"pattern": r"^[\p{L}\p{N} ]{1,50}$", **STRING},
            "note": {"pattern": r"^[\s\S]{0,1024}$", **STRING},
        },
    },
    "conditions": {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "a": STRING, "b": STRING},
        "allOf": [{"if": {"properties": {"kind": {"const": kind}}}, "then": {"required": [kind]}} for kind in "ab"],
        "dependentRequired": {"a": ["kind"]},
    },
    "an envelope closed by unevaluated": {
        "allOf": [{"type": "object", "properties": {"id": STRING}}, {"properties": {"at": STRING}}],
        "unevaluatedProperties": False,
    },
    "numbers with bounds and many codes": {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "price": {"type": "number", "multipleOf": 0.01, "exclusiveMinimum": 0},
            "code": {"type": "integer", "enum": list(range(500))},
            "country": {"enum": [f"C{number}" for number in range(300)]},
            "tags": {"type": "array", "items": STRING, "uniqueItems": True, "maxItems": 20},
        },
    },
    "a map with keys by pattern": {
        "type": "object",
        "patternProperties": {"^x-": STRING},
        "propertyNames": {"pattern": "^[a-z-]+$"},
        "additionalProperties": {"type": "integer"},
    },
    "a tuple of draft 7": {"items": [STRING, {"type": "number"}], "additionalItems": False, "definitions": {}},
    "two hundred parameters": {
        "type": "object",
        "properties": {f"p{number}": {"type": "object", "properties": {"a": NULLABLE}} for number in range(200)},
    },
}


@pytest.mark.parametrize("schema", ORDINARY.values(), ids=ORDINARY.keys())
def test_an_ordinary_schema_has_a_bound_with_room_for_ordinary_values(schema: Schema):
    bound = bound_of(schema)

    assert isinstance(bound, Bound), bound
    assert bound.visits <= MAX_VISITS / 10
    assert bound.match <= MAX_MATCH / 3


def doubled(levels: int, make: Callable[[Schema], Schema]) -> Schema:
    places = {f"a{level}": make({"$ref": f"#/$defs/a{level + 1}"}) for level in range(levels)}
    return {"$ref": "#/$defs/a0", "$defs": places | {f"a{levels}": STRING}}


DOUBLING: dict[str, Callable[[Schema], Schema]] = {
    "anyOf": lambda below: {"anyOf": [below, below]},
    "allOf": lambda below: {"allOf": [below, below]},
    "oneOf": lambda below: {"oneOf": [below, below]},
    "mixed": lambda below: {"anyOf": [below], "oneOf": [below]},
    "if": lambda below: {"if": below, "then": below},
    "else": lambda below: {"if": {"not": below}, "else": below},
    "not": lambda below: {"not": {"not": below}, "allOf": [below]},
    "dependent": lambda below: {"dependentSchemas": {"a": below, "b": below}},
    "dependencies": lambda below: {"dependencies": {"a": below, "b": below}},
    "below one member": lambda below: {"anyOf": [{"properties": {"c": below}}, {"properties": {"c": below}}]},
    "below any member": lambda below: {"allOf": [{"additionalProperties": below}, {"patternProperties": {"": below}}]},
    "below elements": lambda below: {"items": below, "contains": below},
    "below names": lambda below: {"propertyNames": below, "patternProperties": {"a": below}},
    "beside": lambda below: {**below, "allOf": [below]},
}


@pytest.mark.parametrize("make", DOUBLING.values(), ids=DOUBLING.keys())
def test_references_that_double_at_every_step_are_refused(make: Callable[[Schema], Schema]):
    assert "alternatives multiply" in str(bound_of(doubled(22, make)))


@pytest.mark.parametrize("make", DOUBLING.values(), ids=DOUBLING.keys())
def test_a_few_doublings_are_no_attack(make: Callable[[Schema], Schema]):
    assert isinstance(bound_of(doubled(5, make)), Bound)


def test_members_of_their_own_do_not_multiply():
    def make(below: Schema) -> Schema:
        return {"properties": {"left": below, "right": below}}

    assert isinstance(bound_of(doubled(22, make)), Bound)


def test_doublings_around_a_circle_are_refused():
    schema = doubled(22, lambda below: {"anyOf": [{"properties": {"c": below}}, {"properties": {"c": below}}]})
    schema["$defs"]["a22"] = {"properties": {"c": {"$ref": "#/$defs/a0"}}}

    assert "alternatives multiply" in str(bound_of(schema))


def test_many_places_that_all_lead_to_each_other_are_refused():
    names = [f"e{number}" for number in range(8)]
    leads = {"anyOf": [{"properties": {"c": {"$ref": f"#/$defs/{name}"}}} for name in names]}

    schema = {"$ref": "#/$defs/e0", "$defs": {name: {**leads} for name in names}}
    assert "alternatives multiply" in str(bound_of(schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
        },
        {
            "$ref": "#/$defs/v",
            "$defs": {
                "v": {"anyOf": [{"properties": {"x": {"$ref": "#/$defs/u"}}}, {"$ref": "#/$defs/u"}]},
                "u": {"allOf": [{"$ref": "#/$defs/v"}]},
            },
        },
        {"allOf": [{"unevaluatedProperties": False, "$ref": "#"}]},
    ],
    ids=["itself", "alternative", "two", "hidden behind a deeper way", "unevaluated"],
)
def test_a_schema_that_refers_to_itself_without_going_deeper_is_refused(schema: Schema):
    assert "without going deeper" in str(bound_of(schema))


def unevaluated_inside(levels: int) -> Schema:
    schema: Schema = {"type": "object"}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


def nested(levels: int, word: str = "properties") -> Schema:
    schema: Schema = STRING
    for _ in range(levels):
        schema = {word: {"a": schema} if word == "properties" else schema}
    return schema


HOSTILE: dict[str, tuple[Schema, str]] = {
    "a reference elsewhere": ({"properties": {"a": {"$ref": "http://127.0.0.1/x"}}}, "nothing outside"),
    "a dynamic reference": ({"$dynamicRef": "#/$defs/a", "$defs": {"a": True}}, "not made flat"),
    "a reference to nothing": ({"$ref": "#/$defs/none"}, "does not have"),
    "an identity inside": ({"properties": {"a": {"$id": "urn:x", "type": "object", "minLength": 1}}}, r"$id"),
    "deep": (nested(150), "nests deeper"),
    "deep by elements": (nested(150, "items"), "nests deeper"),
    "deeper than Python": (nested(5000, "not"), "nests deeper"),
    "a long chain": (doubled(1000, lambda below: below), "nests deeper"),
    "many places": ({"properties": {f"p{n}": {"minLength": 1} for n in range(MAX_PLACES)}}, "places"),
    "many bytes": ({"description": "x" * 600_000}, "bytes"),
    "a regular expression too large": ({"pattern": "^(a{1,1000}){1,1000}$"}, "regular expressions"),
    "a long repeat": ({"pattern": "a{1,100000}"}, "regular expressions"),
    "repeats of a Unicode class": ({"pattern": r"^\p{L}{1,1000}$"}, "regular expressions"),
    "an expression that goes back over many states": ({"pattern": "(?=[ab]*a[ab]{500}c)x"}, "regular expressions"),
    "too many expressions": (
        {"properties": {f"p{n}": {"pattern": f"{n}[a-z]{{1,400}}"} for n in range(500)}},
        "regular expressions",
    ),
    "an expression too long": ({"pattern": "a" * 5000}, "regular expression"),
    "an expression that is none": ({"pattern": 7}, "regular expression"),
    "an expression among names": ({"patternProperties": {"a{1,100000}": True}}, "regular expressions"),
    "options that are large objects": ({"enum": [{"a": [1] * 50}] * 1000}, "too long"),
    "fractions among options": ({"enum": [n + 0.5 for n in range(10_000)]}, "too long"),
    "unevaluated in itself": (unevaluated_inside(12), "unevaluated"),
    "unevaluated over many": ({"allOf": [{"type": "object"}] * 500, "unevaluatedItems": False}, "unevaluated"),
    "a number without end": ({"minimum": 10**400}, "digits"),
    "an option without end": ({"enum": [10**400]}, "digits"),
    "something else than a schema": ({"properties": {"a": "string"}}, "not a schema"),
    "something else than an alternative": ({"anyOf": ["string"]}, "not a schema"),
    "something else than JSON": ({"default": object()}, "cannot be read"),
}


@pytest.mark.parametrize(("schema", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_schema_is_refused_with_its_reason(schema: Schema, reason: str):
    refusal = bound_of(schema)

    assert isinstance(refusal, str)
    assert reason in refusal
    assert len(refusal) < 200


def test_what_only_looks_like_schema_words_is_not_read_as_such():
    schema = {
        "properties": {"$ref": STRING, "$id": STRING, "pattern": STRING, "anyOf": STRING},
        "default": {"$ref": "http://elsewhere.test"},
        "examples": [{"$id": "urn:x"}],
        "const": {"pattern": "a{1,100000}"},
    }
    assert isinstance(bound_of(schema), Bound)


def test_each_regular_expression_is_built_once():
    schema = {"properties": {f"p{n}": {"pattern": "^[a-z]{1,400}x$"} for n in range(500)}}

    assert isinstance(bound_of(schema), Bound)


def test_a_bound_says_what_makes_checking_slower():
    plain = bound_of({"type": "object", "properties": {"a": {"enum": ["x", "y"]}}})
    assert isinstance(plain, Bound)
    assert not any((plain.numbers, plain.options, plain.recursive, plain.backtracks))

    for schema, field in [
        ({"minimum": 1}, "numbers"),
        ({"uniqueItems": True}, "numbers"),
        ({"enum": [1, 2]}, "options"),
        ({"const": [1]}, "options"),
        (ORDINARY["a tree"], "recursive"),
        ({"pattern": "(?=a)"}, "backtracks"),
    ]:
        assert getattr(bound_of(schema), field) is True


def test_text_costs_only_where_it_is_matched():
    schema: Schema = {"type": "object", "properties": {"id": {"pattern": UUID}, "content": STRING}}

    assert match_of(schema, schema["properties"]["content"]) == 0
    assert match_of(schema, schema["properties"]["id"]) > 100


schemas: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.sampled_from([{}, STRING, {"$ref": "#"}, {"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}, 7, None]),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "$defs": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "anyOf": st.lists(inner, max_size=3),
            "items": inner | st.lists(inner, max_size=2),
            "not": inner,
            "additionalProperties": inner,
            "unevaluatedProperties": inner,
            "pattern": st.text(r"a(){}1,\[]", max_size=8),
            "enum": st.lists(st.integers() | st.floats() | st.none(), max_size=3),
        },
    ),
    max_leaves=20,
)


@given(schemas.filter(lambda schema: isinstance(schema, dict)))
def test_every_schema_has_a_bound_or_a_reason(schema: Schema):
    assert isinstance(bound_of(schema), Bound | str)
