"""From dataclasses back to JSON."""

from collections import UserDict
from dataclasses import dataclass, field
from typing import Any

import pytest

from bascule.catalog.typed.dump import dumped, dumped_arguments, key_of
from bascule.core.errors import InvalidArguments
from bascule.core.unset import UNSET, Unset


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    name: str
    class_: str | Unset = field(default=UNSET, metadata={"json": "class"})
    friends: "list[Person] | Unset" = UNSET
    additional: dict[str, Any] | Unset = field(default=UNSET, metadata={"additional": True})


def test_names_are_those_of_json_and_what_is_unset_is_not_there():
    assert dumped_arguments(Person(name="a")) == {"name": "a"}
    assert dumped_arguments(Person(name="a", class_="c")) == {"name": "a", "class": "c"}


def test_none_is_there():
    assert dumped_arguments(Person(name=None)) == {"name": None}  # pyright: ignore[reportArgumentType] -- on purpose


def test_what_is_inside_is_dumped_too():
    inner = Person(name="b", class_="c")
    whole = Person(name="a", friends=[inner], additional={"x": {"y": [inner]}})

    assert dumped_arguments(whole) == {
        "name": "a",
        "friends": [{"name": "b", "class": "c"}],
        "x": {"y": [{"name": "b", "class": "c"}]},
    }


def test_what_was_given_is_not_changed():
    more = {"x": [1]}
    back = dumped_arguments(Person(name="a", additional=more))
    back["x"].append(2)

    assert more == {"x": [1]}


@pytest.mark.parametrize("key", ["name", "class"])
def test_nothing_is_given_twice(key: str):
    with pytest.raises(InvalidArguments, match="a field of its own"):
        dumped_arguments(Person(name="a", additional={key: "b"}))


@pytest.mark.parametrize("given", [5, "text", Person, None, UNSET, UserDict])
def test_what_holds_no_arguments_is_told_by_its_type(given: Any):
    with pytest.raises(TypeError, match="a mapping or a dataclass"):
        dumped_arguments(given)


def test_what_holds_itself_is_refused():
    circle: list[Any] = []
    circle.append(circle)

    with pytest.raises(InvalidArguments, match="hold themselves"):
        dumped_arguments(Person(name="a", friends=circle))


def test_values_of_json_and_of_nobody_stay_as_they_are():
    odd = object()

    for value in (None, True, 1, 1.5, "x", odd, UNSET):
        assert dumped(value) is value


def test_a_field_tells_its_key():
    (name, class_, *_) = Person.__dataclass_fields__.values()

    assert (key_of(name), key_of(class_)) == ("name", "class")
