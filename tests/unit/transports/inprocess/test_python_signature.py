"""Signatures read as JSON Schema, and arguments read as what a function says."""

import enum
import functools
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Self, TypedDict

import msgspec
import pytest
from pydantic import BaseModel

from bascule.core.errors import UsageError
from bascule.core.outcome import Outcome, ToolResult
from bascule.core.principal import Principal
from bascule.transports.inprocess.python_signature import Signature
from bascule.transports.inprocess.python_types import Media, Progress


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Tree:
    name: str
    below: "list[Tree]"


class Where(TypedDict, total=False):
    city: str


class Pair(NamedTuple):
    left: int
    right: int


class Inner(BaseModel):
    size: int


class Model(BaseModel):
    inner: Inner
    names: list[str] = []


class Row(msgspec.Struct):
    id: int


class Squeezed(msgspec.Struct, array_like=True):
    id: int


def schema_of(hint: Any) -> Any:
    """What is said of a parameter of this type."""

    def function(value):  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType, reportUnknownVariableType]
        pass

    function.__annotations__ = {"value": hint}
    schema = Signature.of(function, "function").schema
    assert schema["required"] == ["value"]
    return schema["properties"]["value"], schema.get("$defs")


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Annotated[str, "Which one."], {"type": "string", "description": "Which one."}),
        (
            Annotated[int, msgspec.Meta(ge=1), "How many."],
            {"type": "integer", "minimum": 1, "description": "How many."},
        ),
    ],
)
def test_plain_types_are_told(hint: Any, schema: Any):
    assert schema_of(hint) == (schema, None)


def test_tuples_are_told_place_by_place():
    schema, _ = schema_of(tuple[int, str])
    assert schema["prefixItems"] == [{"type": "integer"}, {"type": "string"}]


@pytest.mark.parametrize(
    ("hint", "named"),
    [(Colour, {"Colour"}), (Point, {"Point"}), (Where, {"Where"}), (Tree, {"Tree"}), (Row, {"Row"})],
)
def test_types_with_names_are_told_once_beside_it(hint: Any, named: set[str]):
    schema, definitions = schema_of(hint)
    assert schema == {"$ref": f"#/$defs/{min(named)}"}
    assert definitions.keys() == named


def test_a_pydantic_model_is_told_by_its_own_schema_and_made_of_what_comes():
    def function(model: Model) -> Model:
        return model

    signature = Signature.of(function, "function")

    assert signature.schema["properties"]["model"]["properties"]["inner"] == {"$ref": "#/$defs/Inner"}
    assert signature.schema["$defs"]["Inner"]["properties"] == {"size": {"title": "Size", "type": "integer"}}
    assert signature.read(b'{"model": {"inner": {"size": 3}}}') == {"model": Model(inner=Inner(size=3))}
    assert signature.output is not None
    assert signature.output["$defs"].keys() == {"Inner"}
    with pytest.raises(msgspec.ValidationError):
        signature.read(b'{"model": {"inner": {"size": "large"}}}')


def test_what_comes_is_of_the_type_that_the_function_says():
    def function(point: Point, colour: Colour, where: Where, many: set[int]) -> None: ...

    given = b'{"point": {"x": 1}, "colour": "red", "where": {"city": "Bern"}, "many": [1, 2]}'
    assert Signature.of(function, "function").read(given) == {
        "point": Point(1),
        "colour": Colour.RED,
        "where": {"city": "Bern"},
        "many": {1, 2},
    }


def test_what_is_not_given_is_left_to_the_function():
    marker = object()

    def function(first: str, second: Any = marker, third: int | None = None, fourth: int = 4) -> None: ...

    signature = Signature.of(function, "function")
    shown = signature.schema["properties"]

    assert signature.schema["required"] == ["first"]
    assert ("default" in shown["second"], shown["third"]["default"], shown["fourth"]["default"]) == (False, None, 4)
    assert signature.read(b'{"first": "a"}') == {"first": "a"}
    assert signature.read(b'{"first": "a", "third": null}') == {"first": "a", "third": None}


def test_a_whole_number_may_be_written_as_a_fraction_and_a_text_stays_one():
    def function(count: int, either: int | str = 0) -> None: ...

    signature = Signature.of(function, "function")
    assert signature.read(b'{"count": 3.0}') == {"count": 3}
    assert signature.read(b'{"count": 3, "either": "7"}') == {"count": 3, "either": "7"}
    with pytest.raises(msgspec.ValidationError):
        signature.read(b'{"count": 3.5}')


@pytest.mark.parametrize("data", [b'{"count": 1, "more": 2}', b"{}", b'{"count": "many"}', b"[]"])
def test_what_does_not_fit_is_refused(data: bytes):
    def function(count: int) -> None: ...

    with pytest.raises(msgspec.ValidationError):
        Signature.of(function, "function").read(data)


def test_what_we_fill_in_is_shown_to_nobody():
    def function(text: str, me: Principal, say: Annotated[Progress, "How far."]) -> None: ...

    signature = Signature.of(function, "function")

    assert signature.schema["properties"].keys() == {"text"}
    assert signature.own == {"me": Principal, "say": Progress}


def test_parameters_without_names_are_known_as_such():
    def function(first: int, second: int = 2, /, third: int = 3) -> None: ...

    assert Signature.of(function, "function").positional == ("first", "second")


@pytest.mark.parametrize(
    "hint", [None, str, int, Any, dict | None, Media, list[Media | str], ToolResult, Outcome, Squeezed]
)
def test_what_may_be_anything_promises_nothing(hint: Any):
    def function() -> None: ...

    function.__annotations__ = {"return": hint}
    assert Signature.of(function, "function").output is None


@pytest.mark.parametrize(
    ("hint", "properties"),
    [
        (Point, {"x", "y"}),
        (Where, {"city"}),
        (Row, {"id"}),
        (Tree, {"name", "below"}),
        (list[Point], {"result"}),
        (tuple[int, ...], {"result"}),
        (Pair, {"result"}),
        (set[str], {"result"}),
    ],
)
def test_what_is_structured_is_promised(hint: Any, properties: set[str]):
    def function() -> None: ...

    function.__annotations__ = {"return": hint}
    output = Signature.of(function, "function").output
    assert output is not None
    assert (output["type"], output["properties"].keys()) == ("object", properties)


@pytest.mark.parametrize("hint", [dict[str, int], Mapping[str, int]])
def test_a_mapping_promises_an_object(hint: Any):
    def function() -> None: ...

    function.__annotations__ = {"return": hint}
    assert Signature.of(function, "function").output == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }


class Shop:
    """A method, and an instance that can be called."""

    def price(self, of: str) -> int:
        return len(of)

    def __call__(self, of: str) -> Self:
        return self


def test_methods_objects_and_partial_functions_are_read_as_what_they_take():
    def function(first: int, second: str) -> None: ...

    @functools.wraps(function)
    def wrapped(*given: Any, **named: Any) -> None: ...

    for read, names in (
        (Shop().price, {"of"}),
        (Shop(), {"of"}),
        (functools.partial(function, 1), {"second"}),
        (wrapped, {"first", "second"}),
    ):
        properties = Signature.of(read, "function").schema["properties"]
        assert properties.keys() == names
        assert all("type" in each for each in properties.values())


def spread(*items: int) -> None: ...


def named(**items: int) -> None: ...


def generator() -> Generator[int]:
    yield 1


async def async_generator() -> AsyncGenerator[int]:
    yield 1


def with_a_function(callback: Callable[[int], int]) -> None: ...


def unfound(thing: "NotThere") -> None: ...  # noqa: F821  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (spread, r"\*items"),
        (named, r"\*\*items"),
        (generator, "generator"),
        (async_generator, "generator"),
        (with_a_function, "no schema"),
        (unfound, "NotThere"),
    ],
)
def test_what_no_schema_can_tell_is_refused_with_what_to_do(function: Any, match: str):
    with pytest.raises(UsageError, match=match) as refused:
        Signature.of(function, "function")
    assert refused.value.fix
