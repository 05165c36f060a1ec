from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from typing import Any, get_type_hints

import pytest
from weakincentives.serde import dump, parse, schema

from bascule.bridges.weakincentives.dataclasses import Fitted, arguments_of, fitted
from bascule.catalog.schema.cost import Bound, bound_of
from bascule.catalog.typed.from_schema import read_object
from bascule.catalog.typed.shape import Struct
from bascule.core.unset import UNSET


def params(properties: dict[str, Any], required: tuple[str, ...] = (), missing: Any = UNSET, **more: Any) -> Any:
    whole = {"type": "object", "properties": properties, "required": list(required), **more}
    bound = bound_of(whole)
    assert isinstance(bound, Bound)
    shape = read_object(whole, bound, "WorkAct").shape
    assert isinstance(shape, Struct)
    return fitted(shape, missing)


def given(kind: Any, **arguments: Any) -> dict[str, Any]:
    """What becomes of arguments as the framework's executor reads them."""
    return arguments_of(parse(kind, arguments, extra="forbid", coerce=False))


def told_of(kind: Any) -> Any:
    """What a model is told of its members."""
    return schema(kind)["properties"]


STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def test_it_is_a_frozen_dataclass():
    kind = params({"a": STRING, "b": INTEGER}, ("a",))
    made = kind(a="x")

    assert [part.name for part in fields(kind)] == ["a", "b"]
    assert (made.a, made.b, repr(made)) == ("x", UNSET, "WorkActParams(a='x', b=UNSET)")
    assert (made == kind(a="x"), made == kind(a="y"), hash(made) == hash(kind(a="x"))) == (True, False, True)
    assert replace(made, b=3).b == 3
    with pytest.raises(FrozenInstanceError):
        made.a = "y"
    with pytest.raises(FrozenInstanceError):
        del made.a
    with pytest.raises(TypeError, match="needs a"):
        kind()
    with pytest.raises(TypeError, match="has no c"):
        kind(a="x", c=1)
    assert is_dataclass(kind)


@pytest.mark.parametrize(
    ("place", "shown", "values", "refused"),
    [
        (STRING, {"type": "string"}, ["", "x"], [1, None]),
        (NUMBER, {"anyOf": [{"type": "number"}, {"type": "integer"}]}, [1, 1.5], ["1", None]),
        (INTEGER, {"type": "integer"}, [1], ["1", 1.5]),
        ({"type": "boolean"}, {"type": "boolean"}, [True, False], ["true", 1]),
        ({"type": "null"}, {"type": "null"}, [None], [0]),
        (
            {"type": ["string", "null"]},
            {"anyOf": [{"type": "string"}, {"type": "null"}], "type": "string"},
            ["", None],
            [1],
        ),
        ({"enum": ["a", "b"]}, {"enum": ["a", "b"], "type": "string"}, ["a"], ["c", None]),
        ({"enum": ["a", None]}, None, ["a", None], ["c", 1]),
        ({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, None, ["a", None], ["c", 1]),
        ({"enum": [1, 2]}, {"enum": [1, 2], "type": "integer"}, [1], [3]),
        ({"type": "array", "items": INTEGER}, {"type": "array", "items": {"type": "integer"}}, [[], [1]], [["x"], 1]),
        ({"type": "object", "additionalProperties": INTEGER}, None, [{}, {"a": 1}], [{"a": "x"}, 1]),
        ({"type": "object", "properties": {"n": INTEGER}}, None, [{}, {"n": 1}], [{"n": "x"}, 1]),
        ({"anyOf": [INTEGER, {"type": "array", "items": STRING}]}, None, [1, ["a"]], ["a", [1]]),
        ({}, {}, [None, 1, "x", [1], {"a": [None]}], []),
    ],
)
def test_it_takes_what_the_schema_takes_and_says_so(place: Any, shown: Any, values: list[Any], refused: list[Any]):
    kind = params({"a": place})

    assert shown is None or told_of(kind) == {"a": shown}
    assert told_of(kind) != {"a": {}} or place == {}
    assert [given(kind, a=value) for value in values] == [{"a": value} for value in values]
    for value in refused:
        with pytest.raises((TypeError, ValueError)):
            given(kind, a=value)


def test_true_does_not_pass_for_one():
    assert given(params({"a": {"enum": [1]}}), a=True)["a"] is True


def test_what_the_schema_leaves_open_and_does_not_name_is_refused_by_the_framework():
    for arguments in ({"other": 1}, {"n": 1.0}):
        with pytest.raises((TypeError, ValueError)):
            given(params({"n": INTEGER}), **arguments)


def test_names_are_those_of_the_schema():
    kind = params({"class": STRING, "a-b": {"type": "object", "properties": {"x y": INTEGER}}}, ("class",))

    assert set(told_of(kind)) == {"class", "a-b"}
    assert given(kind, **{"class": "c", "a-b": {"x y": 1}}) == {"class": "c", "a-b": {"x y": 1}}
    assert given(kind, **{"class": "c"}) == {"class": "c"}


def test_null_is_something_else_than_nothing():
    kind = params({"a": {"type": ["string", "null"]}})

    assert (given(kind, a=None), given(kind)) == ({"a": None}, {})


def test_members_without_names_have_a_field():
    kind = params({"a": STRING}, additionalProperties=INTEGER)

    assert given(kind, a="x", additional={"b": 1}) == {"a": "x", "b": 1}
    with pytest.raises(ValueError, match="Extra keys"):
        given(kind, b=1)


def test_what_leads_back_to_itself_ends():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "other": {"$ref": "#/$defs/node"}}}
    definitions: dict[str, Any] = {"$defs": {"node": node}}
    kind = params({"root": {"$ref": "#/$defs/node"}}, **definitions)
    deep = {"root": {"next": {"next": {"other": {}}}, "other": {}}}

    assert told_of(kind)["root"]["type"] == "object"
    assert given(kind, **deep) == deep


def doubling(levels: int, **place: Any) -> dict[str, Any]:
    """Definitions of which each names the next one twice: two to the power of so many places, when written out."""
    below = [{"$ref": f"#/$defs/level{n + 1}"} for n in range(levels)]
    made = {f"level{n}": _doubled(below[n], **place) for n in range(levels)}
    return {"$defs": {**made, f"level{levels}": {"type": "integer"}}}


def _doubled(below: Any, *, named: bool = True) -> dict[str, Any]:
    if named:
        return {"type": "object", "properties": {"left": below, "right": below}}
    return {"anyOf": [{"type": "array", "items": below}, {"type": "object", "additionalProperties": below}]}


@pytest.mark.parametrize(("levels", "named"), [(30, True), (12, False)])
def test_a_schema_that_would_fill_the_memory_when_written_out_is_not(levels: int, named: bool):
    kind = params({"top": {"$ref": "#/$defs/level0"}, "n": INTEGER}, **doubling(levels, named=named))

    assert len(str(told_of(kind))) < 200_000
    assert not named or told_of(kind)["top"] == {}
    assert given(kind, top={"left": {"left": {}}}, n=1) == {"top": {"left": {"left": {}}}, "n": 1}


def test_one_that_fits_is_written_out():
    assert told_of(params({"top": {"$ref": "#/$defs/level0"}}, **doubling(4)))["top"]["type"] == "object"


def test_what_is_missing_in_a_result_is_none_and_can_be_written_down():
    kind = params({"a": STRING, "b": {"type": "object", "properties": {"c": {"enum": ["x"]}}}}, missing=None)
    made = parse(kind, {"b": {}}, coerce=False)

    assert isinstance(made, Fitted)
    assert get_type_hints(kind)["a"] == str | None
    assert dump(made) == {"a": None, "b": {"c": None}}


def test_nothing_given_is_nothing_sent():
    assert arguments_of(None) == {}
