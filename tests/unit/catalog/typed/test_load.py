"""From JSON to dataclasses, by types alone."""

from dataclasses import dataclass, field
from typing import Any, Literal, Never

import pytest

from bascule.catalog.typed import load
from bascule.catalog.typed.load import Misfit, loaded
from bascule.core.unset import UNSET, Unset


@dataclass(frozen=True, slots=True, kw_only=True)
class Cat:
    kind: Literal["cat"]
    lives: int | Unset = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Dog:
    kind: Literal["dog"]
    owner_: "Cat | Dog | Unset | None" = field(default=UNSET, metadata={"json": "owner"})
    additional: dict[str, float] | Unset = field(default=UNSET, metadata={"additional": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    next: "Left | Right | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    next: "Left | Right | Literal[1]"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *((Any, object()), (str, "x"), (bool, True), (None, None), (int, 1), (float, 1), (float, 1.5), (int, 10**30)),
        *((list[str], ["a"]), (list[Any], []), (dict[str, int], {"a": 1}), (str | None, None)),
        *((Literal["a", 1], 1), (Literal[True, 0], True), (list[Literal["a"]], ["a"])),
    ],
)
def test_a_value_of_a_type_is_loaded_as_it_is(kind: Any, value: Any):
    assert loaded(kind, value) == value
    assert type(loaded(kind, value)) is type(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *((str, 1), (str, None), (bool, 1), (None, False), (int, True), (int, 1.5), (int, "1"), (float, True)),
        *((float, "1"), (list[str], "ab"), (list[str], [1]), (dict[str, int], []), (dict[str, int], {"a": "b"})),
        *((Literal["a", 1], True), (Literal["a"], ["a"]), (Literal[True], 1), (Never, 1), (str | None, 1)),
        *((int, float("nan")), (int, float("inf")), (Cat, []), (Cat, {}), (Cat, {"kind": "dog"})),
        *((Cat, {"kind": "cat", "tail": 1}), (Dog, {"kind": "dog", "tail": "long"}), (Unset, UNSET)),
    ],
)
def test_a_value_of_another_type_is_not(kind: Any, value: Any):
    with pytest.raises(Misfit):
        loaded(kind, value)


def test_a_whole_number_that_was_written_as_a_fraction_becomes_one():
    assert type(loaded(int, 3.0)) is int
    assert type(loaded(Literal[3], 3.0)) is int
    assert type(loaded(float, 3.0)) is float
    assert loaded(int, 1e300) == 1e300


def test_an_object_becomes_an_instance():
    whole = loaded(Dog, {"kind": "dog", "owner": {"kind": "cat", "lives": 9}, "weight": 7.5})

    assert whole == Dog(kind="dog", owner_=Cat(kind="cat", lives=9), additional={"weight": 7.5})
    assert loaded(Dog, {"kind": "dog", "owner": None}) == Dog(kind="dog", owner_=None)


def test_of_a_union_it_becomes_the_first_that_fits():
    assert loaded(Cat | Dog, {"kind": "dog"}) == Dog(kind="dog")
    assert loaded(list[Cat | Dog], [{"kind": "dog"}, {"kind": "cat"}]) == [Dog(kind="dog"), Cat(kind="cat")]


def test_what_fits_nowhere_is_tried_once_as_each_type(monkeypatch: pytest.MonkeyPatch):
    tried: list[Any] = []
    made = load._made
    monkeypatch.setattr(load, "_made", lambda *args: (tried.append(args[0]), made(*args))[1])
    value: Any = "x"
    for _ in range(12):
        value = {"next": value}

    with pytest.raises(Misfit):
        loaded(Left | Right, value)

    assert len(tried) == 2 * 12


def test_the_parts_of_a_value_are_told_apart_though_they_are_equal():
    value = {"kind": "dog", "owner": {"kind": "dog"}}

    assert loaded(Dog, value).owner_ == Dog(kind="dog")
