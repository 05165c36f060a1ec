"""Values read as the type their key wants."""

from typing import Any

import pytest

from bascule.config.loading.key_table import Key, Kind
from bascule.config.loading.value_parsers import read_value
from bascule.config.problems import KeyPath
from bascule.config.variables import HOLE, FromVariable


def read(kind: Kind, value: Any, **key: Any) -> tuple[Any, list[tuple[KeyPath, str]]]:
    told: list[tuple[KeyPath, str]] = []
    name = key.pop("name", "some_key")
    return read_value(Key(name, kind, "One.", **key), value, lambda path, text: told.append((path, text))), told


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        (Kind.TEXT, "a", "a"),
        (Kind.TEXTS, ["a", "b"], ("a", "b")),
        (Kind.TEXTS, [], ()),
        (Kind.TEXT_MAP, {"a": "b"}, {"a": "b"}),
        (Kind.TABLES, [{"a": 1}, {}], ({"a": 1}, {})),
        (Kind.FLAG, True, True),
        (Kind.FLAG, False, False),
        (Kind.SECONDS, 1.5, 1.5),
        (Kind.COUNT, 3, 3),
        (Kind.SIZE, 1024, 1024),
        (Kind.SIZE, "1024", 1024),
        (Kind.SIZE, "8MiB", 8 * 1024**2),
        (Kind.SIZE, "2 KiB", 2048),
        (Kind.SIZE, "1GiB", 1024**3),
    ],
)
def test_a_value_of_the_right_type_is_read(kind: Kind, value: Any, wanted: Any):
    assert read(kind, value) == (wanted, [])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Kind.TEXT, 5),
        (Kind.TEXT, True),
        (Kind.TEXT, ["a"]),
        (Kind.TEXT, {"a": "b"}),
        (Kind.TEXTS, "a"),
        (Kind.TEXT_MAP, ["a"]),
        (Kind.TABLES, {"a": 1}),
        (Kind.TABLES, "a"),
        (Kind.FLAG, "true"),
        (Kind.FLAG, 1),
        (Kind.SECONDS, "5"),
        (Kind.SECONDS, True),
        (Kind.SECONDS, 0),
        (Kind.SECONDS, -1),
        (Kind.SECONDS, float("inf")),
        (Kind.COUNT, 1.5),
        (Kind.COUNT, 0),
        (Kind.COUNT, True),
        (Kind.SIZE, "8MB"),
        (Kind.SIZE, "8.5MiB"),
        (Kind.SIZE, -1),
        (Kind.SIZE, True),
        (Kind.SIZE, ["8"]),
    ],
)
def test_a_value_of_another_type_is_told_and_the_default_stands(kind: Kind, value: Any):
    got, told = read(kind, value, default="the default")

    assert got == "the default"
    assert len(told) == 1


def test_null_and_holes_are_the_default():
    assert read(Kind.TEXT, None, default="d") == ("d", [])
    assert read(Kind.TEXT, HOLE, default="d") == ("d", [])


def test_every_item_of_another_type_is_told_with_its_number():
    got, told = read(Kind.TEXTS, ["a", 5, None, "b"])

    assert got == ("a", "", "", "b")
    assert [path for path, _ in told] == [(1,), (2,)]


def test_every_entry_of_another_type_is_told_with_its_name():
    got, told = read(Kind.TEXT_MAP, {"A": 1, "B": "b", "C": None, "D": HOLE})

    assert got == {"B": "b"}
    assert [path for path, _ in told] == [("A",), ("C",)]


def test_a_hole_in_a_list_keeps_the_numbers_of_the_others():
    assert read(Kind.TEXTS, [HOLE, "b"]) == (("", "b"), [])


def test_a_number_where_text_is_wanted_is_to_be_quoted():
    assert "quotes" in read(Kind.TEXT, 5)[1][0][1]


def test_a_command_given_as_a_list_is_told_of_args():
    assert "`args`" in read(Kind.TEXT, ["npx", "-y"], name="command")[1][0][1]


@pytest.mark.parametrize("kind", [Kind.TEXT, Kind.FLAG, Kind.SECONDS, Kind.COUNT, Kind.SIZE, Kind.CHOICE, Kind.TEXTS])
def test_a_value_that_does_not_fit_is_never_shown(kind: Kind):
    value: Any = {"hunter2": "hunter2"} if kind is Kind.TEXT else "hunter2"

    _, told = read(kind, value, choices=("a",))
    assert told
    assert "hunter2" not in told[0][1]


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [(Kind.FLAG, "true", True), (Kind.SECONDS, "2.5", 2.5), (Kind.COUNT, "3", 3), (Kind.SIZE, "1KiB", 1024)],
)
def test_what_a_variable_holds_is_read_as_if_it_stood_there_unquoted(kind: Kind, text: str, wanted: Any):
    assert read(kind, FromVariable(text, ("X",))) == (wanted, [])


def test_only_arguments_keep_the_mark_of_their_variables():
    marked = FromVariable("a", ("X",))

    assert type(read(Kind.TEXTS, [marked], name="args")[0][0]) is FromVariable
    assert type(read(Kind.TEXTS, [marked], name="inherit_env")[0][0]) is str
    assert type(read(Kind.TEXT, marked)[0]) is str
    assert type(read(Kind.CHOICE, marked, choices=("a",))[0]) is str


def test_an_unknown_choice_is_told_with_the_near_one():
    assert 'did you mean "http"?' in read(Kind.CHOICE, "htpp", choices=("auto", "http"))[1][0][1]
