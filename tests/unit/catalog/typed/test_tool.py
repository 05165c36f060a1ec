"""A tool with its types: never taking what the schema refuses, and saying where it might seem to."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bascule.catalog.schema.validator import compile_schema
from bascule.catalog.typed import tool as typed_tools
from bascule.catalog.typed.tool import typed_tool
from bascule.core.errors import BasculeError, InvalidArguments, ProtocolViolation
from bascule.core.tool import ToolKey, ToolSpec
from bascule.core.unset import UNSET
from support.typed_values import equal, takes

Schema = dict[str, Any]
ISSUE: Schema = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "class": {"enum": ["bug", "idea"]},
        "body": {"type": ["string", "null"], "default": "none"},
        "author": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    },
    "required": ["title"],
    "additionalProperties": False,
}


def a_spec(schema: Schema, output: Schema | None = None, *, name: str = "work_create", digest: str = "d") -> ToolSpec:
    return ToolSpec(name, ToolKey("work", "create"), digest, input_schema=schema, output_schema=output)


def test_the_types_are_named_after_the_tool():
    typed = typed_tool(a_spec(ISSUE, {"type": "object", "properties": {"number": {"type": "integer"}}}))

    assert typed.params.__name__ == "WorkCreateParams"
    assert typed.result.__name__ == "WorkCreateResult"
    assert typed.params.__annotations__["author"].__args__[0].__name__ == "WorkCreateParamsAuthor"


def test_it_says_of_each_type_whether_it_is_exact_and_if_not_why():
    typed = typed_tool(a_spec(ISSUE, {"type": "object", "properties": {"number": {"type": "integer"}}}))

    assert (typed.exact, typed.inexact) == (False, ("title: `minLength`",))
    assert (typed.exact_result, typed.inexact_result) == (True, ())


def test_what_is_loaded_is_given_back_as_it_was():
    typed = typed_tool(a_spec(ISSUE))
    arguments = {"title": "t", "class": "bug", "body": None, "author": {"id": 7, "name": "Ada"}}
    issue = typed.load(arguments)

    assert (issue.title, issue.class_, issue.body, issue.author.id) == ("t", "bug", None, 7)
    assert issue.author.additional == {"name": "Ada"}
    assert typed.dump(issue) == arguments


def test_what_was_not_given_is_unset_and_a_default_is_only_a_remark():
    typed = typed_tool(a_spec(ISSUE))

    assert typed.load({"title": "t"}).body is UNSET
    assert typed.dump(typed.params(title="t")) == {"title": "t"}


@pytest.mark.parametrize(
    "arguments", [{}, {"title": ""}, {"title": "t", "x": 1}, {"title": "t", "author": {"id": True}}]
)
def test_arguments_that_the_schema_refuses_are_not_loaded(arguments: Schema):
    with pytest.raises(InvalidArguments, match=r"work_create: .* — create\(title: string"):
        typed_tool(a_spec(ISSUE)).load(arguments)


def test_arguments_that_are_no_json_are_not_loaded():
    with pytest.raises(InvalidArguments, match="not JSON"):
        typed_tool(a_spec({"type": "object"})).load({"a": UNSET})


def test_results_are_loaded_and_dumped_as_well():
    typed = typed_tool(a_spec({"type": "object"}, {"type": "array", "items": {"type": "integer", "minimum": 0}}))

    assert typed.result == list[int]
    assert typed.load_result([1, 2.0]) == [1, 2]
    assert typed.dump_result([1, 2]) == [1, 2]
    with pytest.raises(ProtocolViolation, match="does not fit its output schema"):
        typed.load_result([-1])


def test_where_nothing_is_promised_a_result_stays_as_it_is():
    typed = typed_tool(a_spec({"type": "object"}))

    assert typed.result is None
    assert typed.load_result({"any": 1}) == {"any": 1}


def test_types_are_made_once_for_each_digest():
    assert typed_tool(a_spec(ISSUE)) is typed_tool(a_spec({**ISSUE}))
    assert typed_tool(a_spec(ISSUE)) is not typed_tool(a_spec(ISSUE, digest="e"))
    assert typed_tool(a_spec(ISSUE)) is not typed_tool(a_spec(ISSUE, name="other_create"))


def test_a_digest_that_stands_for_another_schema_is_not_believed():
    promising = a_spec(ISSUE, {"type": "object"})

    assert typed_tool(promising).result is not None
    assert typed_tool(a_spec(ISSUE)).result is None
    assert typed_tool(promising).result is not None


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(typed_tools, "_KEPT", {})
    monkeypatch.setattr(typed_tools, "MAX_KEPT", 2)
    for digest in "abc":
        typed_tool(a_spec(ISSUE, digest=digest))

    assert [key[1] for key in typed_tools._KEPT] == ["b", "c"]


@pytest.mark.parametrize("place", ["input", "output"])
def test_a_schema_that_cannot_be_used_has_no_types(place: str):
    bad = {"type": "object", "properties": {"a": {"$ref": "http://elsewhere.test/"}}}
    spec = a_spec(bad) if place == "input" else a_spec({"type": "object"}, bad)

    with pytest.raises(ProtocolViolation, match=f"the {place} schema of work_create cannot be used"):
        typed_tool(spec)


# Whatever the schema, whatever the value.

NAMES = st.sampled_from(["a", "b", "a-b", "a_b", "class", "_x", "1st", "self", "__init__", ""])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.0, 1.0, 1.5, 1e300]), st.text("ab", max_size=2)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=12
)
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "null", "array", "object"])
WORDS: dict[str, Any] = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=4),
    "const": VALUES,
    "minLength": st.integers(0, 2),
    "maximum": st.integers(-2, 2),
    "minItems": st.integers(0, 2),
    "uniqueItems": st.booleans(),
    "minProperties": st.integers(0, 2),
    "required": st.lists(NAMES, max_size=2, unique=True),
    "pattern": st.just("^a"),
    "$ref": st.sampled_from(["#", "#/$defs/x", "#/$defs/y"]),
}


def places(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    nested: dict[str, Any] = {
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.just("a"), inner, max_size=1),
        "items": inner,
        "prefixItems": some,
        "contains": inner,
        "anyOf": some,
        "oneOf": some,
        "allOf": some,
        "not": inner,
        "if": inner,
        "then": inner,
    }
    words = {**WORDS, **nested}
    return st.lists(st.sampled_from([*words]), max_size=4, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({word: words[word] for word in chosen})
    )


PLACES = st.recursive(st.booleans() | places(st.booleans()), places, max_leaves=6)
SCHEMAS = st.fixed_dictionaries({"$defs": st.fixed_dictionaries({"x": PLACES, "y": PLACES})}).flatmap(
    lambda defs: places(PLACES).map(lambda place: {**place, **defs})
)


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(SCHEMAS, st.lists(VALUES, min_size=1, max_size=12))
def test_a_type_is_never_narrower_than_its_schema_and_wider_only_where_it_says_so(schema: Schema, values: list[Any]):
    typed, validator = usable(schema)
    if typed is None or validator is None:
        return
    for value in (*values, *NEAR):
        fits = validator.is_valid(value)
        if fits:
            assert takes(typed.result, value)
            assert equal(typed.dump_result(typed.load_result(value)), value)
        else:
            with pytest.raises(BasculeError):
                typed.load_result(value)
            assert not (typed.exact_result and takes(typed.result, value))


def usable(schema: Schema) -> tuple[Any, Any]:
    try:
        return typed_tool(a_spec({"type": "object"}, schema)), compile_schema(schema)
    except BasculeError:
        return None, None


def near() -> list[Any]:
    """Values of the names and texts that the schemas speak of: they come near to one more often than chance does."""
    chance = random.Random(7)
    names = ["a", "b", "a-b", "a_b", "class", "_x"]
    scalars: list[Any] = [None, True, 0, 1, 1.5, "a", "ab", ""]
    objects = [{name: chance.choice(scalars) for name in chance.sample(names, chance.randint(0, 3))} for _ in range(12)]
    deep = [{name: chance.choice(objects) for name in chance.sample(names, 2)} for _ in range(6)]
    return [*scalars, *objects, *deep, [], ["a"], ["a", "a"], [objects[0]], [[]]]


NEAR = near()
