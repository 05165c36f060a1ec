"""Schemas made flat: they take the same values, and refer to nothing but parts of themselves."""

from collections.abc import Callable
from random import Random
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.schema.cost import Bound, bound_of
from bascule.catalog.schema.dereference import flattened, is_flat
from bascule.catalog.schema.references import SchemaRefused
from bascule.catalog.schema.validator import Validator, compile_schema, validator_of

Schema = dict[str, Any]

DRAFT7 = "http://json-schema.org/draft-07/schema#"
DRAFT201909 = "https://json-schema.org/draft/2019-09/schema"
DRAFT202012 = "https://json-schema.org/draft/2020-12/schema"


def encoded(schema: Any) -> bytes:
    return msgspec.json.encode(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#"}}},
        {"$schema": DRAFT7, "definitions": {"a": {"id": "x"}}},
        {"$ref": "#anchor of nothing"},
        {"title": "https://example.test", "$ref": 7},
    ],
)
def test_nearly_every_schema_is_flat(schema: Schema):
    assert is_flat(encoded(schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": "urn:a"},
        {"$anchor": "a"},
        {"$dynamicRef": "#a"},
        {"$recursiveRef": "#"},
        {"$ref": "other.json"},
        {"$ref": ""},
        {"$defs": {"a": {"$vocabulary": {}}}},
    ],
)
def test_some_are_not(schema: Schema):
    assert not is_flat(encoded(schema))
    assert not is_flat(encoded({"properties": {"a": schema}}))


EXAMPLES: dict[str, tuple[Schema, Schema]] = {
    "a part with a URI": (
        {"$id": "https://example.test/a", "items": {"$ref": "b#/$defs/C"}, "$defs": {"B": {"$id": "b", "$defs": {"C": {"type": "string"}}}}},
        {"$schema": DRAFT202012, "items": {"$ref": "#/$defs/C"}, "$defs": {"C": {"type": "string"}}},
    ),
    "an anchor": (
        {"items": {"$ref": "#name"}, "$defs": {"A": {"$anchor": "name", "type": "string"}}},
        {"$schema": DRAFT202012, "items": {"$ref": "#/$defs/name"}, "$defs": {"name": {"type": "string"}}},
    ),
    "what refers to itself": (
        {"$id": "urn:a", "items": {"$ref": "urn:a"}, "properties": {"b": {"$ref": "#"}}},
        {"$schema": DRAFT202012, "items": {"$ref": "#"}, "properties": {"b": {"$ref": "#"}}},
    ),
    "two references in one place": (
        {"$anchor": "a", "properties": {"p": {"$ref": "#/$defs/B", "$dynamicRef": "#a", "allOf": [True]}}, "$defs": {"B": False}},
        {"$schema": DRAFT202012, "properties": {"p": {"$ref": "#/$defs/B", "allOf": [True, {"$ref": "#"}]}}, "$defs": {"B": False}},
    ),
    "two parts of one name": (
        {"items": {"$ref": "urn:a#/$defs/X"}, "not": {"$ref": "urn:b#/$defs/X"}, "$defs": {n: {"$id": f"urn:{n}", "$defs": {"X": {"const": n}}} for n in "ab"}},
        {"$schema": DRAFT202012, "items": {"$ref": "#/$defs/X"}, "not": {"$ref": "#/$defs/X+2"}, "$defs": {"X": {"const": "a"}, "X+2": {"const": "b"}}},
    ),
    "draft 7, where nothing counts beside a reference": (
        {"$schema": DRAFT7, "$id": "urn:a", "items": {"$ref": "#x", "type": "null"}, "definitions": {"X": {"$id": "#x", "const": 1}}},
        {"$schema": DRAFT7[:-1], "items": {"$ref": "#/definitions/x"}, "definitions": {"x": {"const": 1}}},
    ),
    "a tuple of an older draft": (
        {"$id": "urn:a", "items": [{"$ref": "urn:a#/$defs/X", "type": "null"}], "$defs": {"X": {"const": 1}}},
        {"$schema": DRAFT7[:-1], "items": [{"$ref": "#/definitions/X"}], "definitions": {"X": {"const": 1}}},
    ),
    "values that only look like schemas": (
        {"$id": "urn:a", "enum": [{"$id": "urn:b", "$ref": "x"}], "const": {"$anchor": "c"}, "properties": {"$id": {"type": "string"}}},
        {"$schema": DRAFT202012, "enum": [{"$id": "urn:b", "$ref": "x"}], "const": {"$anchor": "c"}, "properties": {"$id": {"type": "string"}}},
    ),
    "a name that no pointer is spelled like": (
        {"$id": "urn:a", "$ref": "#/$defs/a~1b%20%22c", "$defs": {'a/b "c': {"const": 1}}},
        {"$schema": DRAFT202012, "$ref": "#/$defs/a_1b_20_22c", "$defs": {"a_1b_20_22c": {"const": 1}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "flat"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_references_become_pointers_and_names_go(schema: Schema, flat: Schema):
    before = encoded(schema)

    assert flattened(schema) == flat
    assert encoded(schema) == before


def test_a_dynamic_reference_means_another_thing_on_another_way():
    listing = {"$id": "list", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}}
    schema: Schema = {
        "$id": "https://example.test/both",
        "properties": {"numbers": {"$ref": "numbers"}, "texts": {"$ref": "texts"}, "any": {"$ref": "list"}},
        "$defs": {
            "list": listing,
            "numbers": {"$id": "numbers", "$ref": "list", "$defs": {"i": {"$dynamicAnchor": "item", "type": "number"}}},
            "texts": {"$id": "texts", "$ref": "list", "$defs": {"i": {"$dynamicAnchor": "item", "type": "string"}}},
        },
    }
    fits = compile_schema(schema).is_valid

    assert fits({"numbers": [1], "texts": ["a"], "any": [1, "a"]})
    assert not fits({"numbers": ["a"]})
    assert not fits({"texts": [1]})


def test_a_recursive_reference_leads_to_the_outermost_that_wants_it():
    schema: Schema = {
        "$schema": DRAFT201909,
        "$id": "https://example.test/strict",
        "$recursiveAnchor": True,
        "$ref": "tree",
        "unevaluatedProperties": False,
        "$defs": {
            "tree": {
                "$id": "tree",
                "$recursiveAnchor": True,
                "properties": {"below": {"$recursiveRef": "#"}, "name": {"type": "string"}},
            }
        },
    }

    assert compile_schema(schema).is_valid({"below": {"below": {"name": "a"}}})
    assert not compile_schema(schema).is_valid({"below": {"below": {"nmae": "a"}}})
    open_tree = {**schema, "$recursiveAnchor": False}
    assert compile_schema(open_tree).is_valid({"below": {"below": {"nmae": "a"}}})


@pytest.mark.parametrize("draft", [DRAFT7, DRAFT201909, DRAFT202012])
def test_a_schema_can_ask_for_schemas(draft: str):
    validator = compile_schema({"$schema": draft, "type": "object", "properties": {"schema": {"$ref": draft}}})

    assert validator.is_valid({"schema": {"type": "object", "properties": {"a": {"items": {"type": "null"}}}}})
    assert not validator.is_valid({"schema": {"properties": {"a": {"items": {"type": "nothing"}}}}})


def test_a_document_of_another_draft_is_outside():
    assert "nothing outside" in str(validator_of({"$schema": DRAFT202012, "$ref": DRAFT7}))


def test_a_schema_can_have_its_own_rules_inside():
    rules = {
        "$id": "https://example.test/rules",
        "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/applicator": True},
    }
    schema: Schema = {
        "$schema": "https://example.test/rules",
        "properties": {"a": {"minimum": 10}, "b": False},
        "$defs": {"rules": rules},
    }

    assert compile_schema(schema).is_valid({"a": 1})
    assert not compile_schema(schema).is_valid({"b": 1})
    # Elsewhere they are not looked up, and all that the draft says counts.
    assert not compile_schema({**schema, "$defs": {}}).is_valid({"a": 1})


def chapters(levels: int, make: Callable[[str], Schema]) -> Schema:
    """Parts with URIs of their own, each made of a reference to the next."""
    parts = {f"d{level}": {"$id": f"a{level}", **make(f"a{level + 1}")} for level in range(levels)}
    return {
        "$id": "https://example.test/",
        "$ref": "a0",
        "$defs": parts | {"last": {"$id": f"a{levels}", "$dynamicAnchor": "n"}},
    }


DOUBLING: dict[str, Callable[[str], Schema]] = {
    "references": lambda below: {"anyOf": [{"$ref": below}, {"$ref": below}]},
    "fragments": lambda below: {"anyOf": [{"$ref": f"{below}#"}, {"$ref": below}]},
    "beside each other": lambda below: {"$ref": below, "$dynamicRef": below},
    "dynamic": lambda below: {"$dynamicAnchor": "n", "$defs": {"b": {"anyOf": [{"$ref": below}, {"$dynamicRef": below}]}}, "$ref": "#/$defs/b"},
    "below one member": lambda below: {"anyOf": [{"properties": {"c": {"$ref": below}}}, {"properties": {"c": {"$ref": below}}}]},
}  # fmt: skip


@pytest.mark.parametrize("make", DOUBLING.values(), ids=DOUBLING.keys())
def test_references_that_double_from_one_part_to_the_next_are_refused(make: Callable[[str], Schema]):
    assert "alternatives multiply" in str(validator_of(chapters(22, make)))
    assert isinstance(validator_of(chapters(4, make)), Validator)


@pytest.mark.parametrize("word", ["$ref", "$dynamicRef"])
def test_parts_that_lead_to_each_other_without_going_deeper_are_refused(word: str):
    parts = {"a": {"$id": "urn:a", "anyOf": [{word: "urn:b"}]}, "b": {"$id": "urn:b", "allOf": [{word: "urn:a"}]}}

    assert "without going deeper" in str(validator_of({"$ref": "urn:a", "$defs": parts}))


def test_a_dynamic_name_that_leads_back_is_a_circle_too():
    inner = {"$id": "urn:a", "$dynamicAnchor": "n", "allOf": [{"$dynamicRef": "#n"}]}
    schema = {"$dynamicAnchor": "n", "anyOf": [{"$ref": "urn:a"}], "$defs": {"a": inner}}

    assert "without going deeper" in str(validator_of(schema))


def switches(count: int, last: Schema) -> Schema:
    """As many meanings of the last part as there are ways there: two for each switch."""
    parts: Schema = {"last": {"$id": f"r{count}", **last}}
    for n in range(count):
        parts[f"r{n}"] = {"$id": f"r{n}", "properties": {"a": {"$ref": f"on{n}"}, "b": {"$ref": f"off{n}"}}}
        parts[f"on{n}"] = {"$id": f"on{n}", "$ref": f"r{n + 1}", "$defs": {"n": {"$dynamicAnchor": f"n{n}"}}}
        parts[f"off{n}"] = {"$id": f"off{n}", "$ref": f"r{n + 1}"}
    return {"$id": "https://example.test/", "$ref": "r0", "$defs": parts}


def names(count: int) -> Schema:
    return {"$defs": {f"n{n}": {"$dynamicAnchor": f"n{n}"} for n in range(count)}}


def test_a_part_that_means_too_many_things_is_refused():
    assert isinstance(validator_of(switches(3, names(3))), Validator)
    assert "places, with all that its references mean" in str(validator_of(switches(30, names(30))))


def test_large_parts_that_mean_many_things_are_refused():
    large = {"enum": [f"{n:0100}" for n in range(1000)]}

    assert "bytes, with all that its references mean" in str(validator_of(switches(4, names(4) | large)))


def test_names_that_one_part_alone_has_do_not_multiply():
    """Each means one thing, whatever the way."""
    flat = flattened(switches(30, {"properties": {"a": {"$ref": "r0"}}}))

    assert len(flat["$defs"]) < 100


def test_a_reference_that_nobody_follows_may_lead_anywhere():
    assert flattened({"$id": "urn:a", "$defs": {"x": {"$ref": "https://elsewhere.test"}}}) == {"$schema": DRAFT202012}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "http://127.0.0.1/x"}}},
        {"$dynamicRef": "other#x"},
        {"$id": "urn:a", "$ref": "urn:b"},
        {"$id": "https://example.test/a", "items": {"$id": "b", "$ref": "c"}},
        {"$ref": "file:///etc/passwd"},
    ],
)
def test_what_leads_out_is_refused(schema: Schema):
    with pytest.raises(SchemaRefused, match="nothing outside"):
        flattened(schema)


REFERENCES = (
    *("#", "r0", "r1", "r2", "r0#x", "r1#x", "r2#y", "#x", "#y", "https://example.test/#y", "/r2", "./x/../r1"),
    *("#/$defs/a", "#/$defs/b", "r0#/$defs/a", "r1#/$defs/b", "r2#/$defs/a", "r1#/items", "#/items"),
)


def part(random: Random, depth: int = 2) -> Any:
    """Any schema that refers to others."""
    if random.random() < 0.1:
        return random.random() < 0.8
    made: Schema = random.choice(
        [{}, {"type": "string"}, {"type": "integer"}, {"const": 1}, {"required": ["a"]}]
    ).copy()
    if random.random() < 0.4:
        made["$ref"] = random.choice(REFERENCES)
    for word in ("properties", "items", "anyOf", "not", "unevaluatedProperties"):
        if depth and random.random() < 0.25:
            made[word] = {"properties": _members, "anyOf": _choices}.get(word, part)(random, depth - 1)
    return made


def _members(random: Random, depth: int) -> Schema:
    return {name: part(random, depth) for name in random.sample("ab", random.randint(1, 2))}


def _choices(random: Random, depth: int) -> list[Any]:
    return [part(random, depth) for _ in range(random.randint(1, 2))]


def named(random: Random) -> Schema:
    return {"a": {"allOf": [part(random)], "$anchor": "x"}, "b": {"allOf": [part(random)], "$anchor": "y"}}


def document(random: Random) -> Schema:
    """Three parts with URIs of their own, in a fourth."""
    parts = {f"d{n}": {"$id": f"r{n}", "items": part(random), "$defs": named(random)} for n in range(3)}
    for whole in parts.values():
        if random.random() < 0.4:
            whole["$ref"] = random.choice(REFERENCES)
    top = {"a": part(random), "b": {"$ref": "r0"}, "c": {"$ref": random.choice(REFERENCES)}}
    return {
        "$id": "https://example.test/",
        "properties": top,
        "items": part(random),
        "$defs": {**parts, **named(random)},
    }


VALUES: list[Any] = [
    *("a", 1, None, [], ["a"], [1], [["a"]], {}, {"a": 1}, {"a": "a"}),
    *({"b": {"a": 1}}, {"b": ["a"]}, {"b": [1]}, {"a": {"a": {"b": 1}}}, {"c": 1}, {"c": ["a"]}, {"b": [{"a": 1}]}),
]


@given(st.integers(0, 2**32))
def test_a_flat_schema_takes_just_what_the_library_takes_of_the_one_it_was_made_of(seed: int):
    schema = document(Random(seed))
    validator = validator_of(schema)
    if isinstance(validator, str):
        return
    try:
        other = jsonschema_rs.Draft202012Validator(schema, offline=True)
    except (ValueError, jsonschema_rs.ReferencingError):
        return  # it also looks where nothing refers to

    assert [validator.is_valid(value) for value in VALUES] == [other.is_valid(value) for value in VALUES]


ODD: dict[str, tuple[Any, ...]] = {
    "$id": ("r0", "r1", "urn:a", "#x", "a b", "", 7),
    "$dynamicAnchor": ("x", "n", None),
    "$dynamicRef": ("#n", "r0#n", "#", "#x", 7),
    "$recursiveRef": ("#", 7),
    "$recursiveAnchor": (True, False),
    "$schema": (DRAFT7, DRAFT201909, "urn:a", 7),
    "$vocabulary": ({"urn:b": True}, 7),
    "allOf": ([], 7, [True]),
    "items": ([], 7, [{"$ref": "#n"}]),
    "$ref": (7, None, DRAFT7, DRAFT202012),
}


def spoilt(value: Any, random: Random) -> Any:
    """The same with words that it should not have."""
    if isinstance(value, list):
        return [spoilt(part, random) for part in value]
    if not isinstance(value, dict):
        return value
    words = [word for word in ODD if random.random() < 0.05]
    return {name: spoilt(part, random) for name, part in value.items()} | {w: random.choice(ODD[w]) for w in words}


@given(st.integers(0, 2**32))
def test_every_schema_is_made_flat_and_bounded_or_refused_with_a_reason(seed: int):
    random = Random(seed)
    found = validator_of(spoilt(document(random), random))

    if isinstance(found, str):
        assert 0 < len(found) < 250
    else:
        assert isinstance(bound_of(found.schema), Bound)
