"""What shapes have in common, and what surely not."""

import pytest

from bascule.catalog.typed.shape import (
    ANYTHING,
    KINDS,
    NOTHING,
    Again,
    Either,
    ListOf,
    MapOf,
    Member,
    Options,
    Plain,
    Shape,
    Struct,
    disjoint,
    either,
    holds_again,
    kind_of,
    kinds_in,
    narrowed,
    of_kinds,
    size_of,
)

TEXT, NUMBER, INTEGER, NULL = Plain("string"), Plain("number"), Plain("integer"), Plain("null")
ONE, TRUE, A, B = (Options((value,)) for value in (("integer", 1), ("boolean", True), ("string", "a"), ("string", "b")))


def struct(*, rest: Shape | None = None, **members: Shape) -> Struct:
    return Struct("R", tuple(Member(name, name, shape, required=True) for name, shape in members.items()), rest)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *((None, "null"), (True, "boolean"), (1, "integer"), (1.0, "integer"), (1.5, "number"), ("1", "string")),
        *(([], "array"), ({}, "object"), (float("nan"), "number"), (b"", ""), (object(), "")),
    ],
)
def test_a_value_has_the_kind_that_json_gives_it(value: object, kind: str):
    assert kind_of(value) == kind


def test_alternatives_are_flat_and_each_is_there_once():
    assert either([TEXT, Either((NULL, TEXT)), NOTHING]) == Either((TEXT, NULL))
    assert either([TEXT]) == TEXT
    assert either([]) == NOTHING
    assert either([TEXT, ANYTHING]) == ANYTHING


def test_what_another_alternative_takes_already_is_left_out():
    assert either([INTEGER, NUMBER]) == NUMBER
    assert either([A, TEXT, ONE]) == Either((TEXT, ONE))
    assert either([ONE, NUMBER]) == NUMBER


def test_one_and_true_are_two_options():
    assert either([ONE, TRUE, ONE]) == Options((("integer", 1), ("boolean", True)))
    assert ListOf(ONE) != ListOf(TRUE)


def test_all_kinds_are_anything_and_none_is_nothing():
    assert of_kinds(KINDS) == ANYTHING
    assert of_kinds(frozenset()) == NOTHING
    assert of_kinds(frozenset({"number", "integer", "object"})) == Either((MapOf(ANYTHING), NUMBER))


@pytest.mark.parametrize(
    ("shape", "kinds", "left"),
    [
        (ANYTHING, {"string"}, TEXT),
        (NUMBER, {"integer"}, INTEGER),
        (INTEGER, {"integer", "number"}, INTEGER),
        (TEXT, {"integer"}, NOTHING),
        (Options((("string", "a"), ("integer", 1))), {"integer"}, ONE),
        (A, {"integer"}, NOTHING),
        (Either((TEXT, NULL)), {"string", "array"}, TEXT),
        (ListOf(TEXT), {"array"}, ListOf(TEXT)),
        (MapOf(TEXT), {"array"}, NOTHING),
        (Again(), {"array"}, None),
        (Either((TEXT, Again())), {"array"}, None),
    ],
)
def test_a_shape_is_narrowed_to_some_kinds(shape: Shape, kinds: set[str], left: Shape | None):
    assert narrowed(shape, frozenset(kinds)) == left


def test_what_is_met_again_may_be_of_any_kind():
    assert kinds_in(Again()) == kinds_in(ANYTHING) == KINDS
    assert narrowed(again := Again(), KINDS) is again


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TEXT, NULL),
        (A, B),
        (ONE, TRUE),
        (A, ONE),
        (Either((A, ONE)), Either((B, TRUE))),
        (struct(tag=A), struct(tag=B)),
        (struct(tag=A), TEXT),
        (struct(tag=A), struct()),
        (struct(tag=TEXT), struct(rest=NULL)),
    ],
)
def test_nothing_is_of_both(one: Shape, other: Shape):
    assert disjoint(one, other)
    assert disjoint(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TEXT, A),
        (NUMBER, INTEGER),
        (ANYTHING, TEXT),
        (ListOf(TEXT), ListOf(NULL)),
        (MapOf(TEXT), MapOf(NULL)),
        (Either((A, ONE)), Either((B, ONE))),
        (struct(tag=A, rest=ANYTHING), struct(other=B, rest=ANYTHING)),
        (struct(tag=A, rest=ANYTHING), struct(tag=A, rest=ANYTHING)),
        (struct(tag=struct(x=A)), struct(tag=struct(x=B))),
        (Again(), TEXT),
    ],
)
def test_something_may_be_of_both(one: Shape, other: Shape):
    assert not disjoint(one, other)
    assert not disjoint(other, one)


def test_members_that_may_be_missing_tell_nothing_apart():
    one, other = (Struct("R", (Member("tag", "tag", shape, required=False),)) for shape in (A, B))

    assert not disjoint(one, other)


def test_the_size_counts_what_would_be_written_out():
    assert size_of(ListOf(Either((TEXT, MapOf(NULL))))) == 4
    assert size_of(struct(a=TEXT, b=TEXT)) == 1


def test_a_shape_knows_whether_it_leads_back():
    assert holds_again(Either((NULL, ListOf(MapOf(Again())))))
    assert not holds_again(struct(again=Again()))
