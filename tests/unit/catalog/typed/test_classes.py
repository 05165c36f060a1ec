"""Dataclasses made of structs."""

import dataclasses
import inspect
from typing import Any, Literal, Never, get_type_hints

import pytest

from bascule.catalog.typed.classes import annotation, any_of, classes_of
from bascule.catalog.typed.shape import ANYTHING, NOTHING, Again, Either, ListOf, MapOf, Member, Options, Plain, Struct
from bascule.core.unset import UNSET, Unset

TEXT, NULL = Plain("string"), Plain("null")


def made(*members: Member, rest: Any = None, name: str = "Issue") -> Any:
    struct = Struct(name, members, rest, rest_name="additional", description="words")
    return classes_of([struct])[struct]


def must(key: str, name: str | None = None) -> Member:
    return Member(key, name or key, TEXT, required=True)


def may(key: str, name: str | None = None) -> Member:
    return Member(key, name or key, TEXT, required=False)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (ANYTHING, Any),
        (NOTHING, Never),
        (NULL, None),
        (Plain("number"), float),
        (Options((("string", "a"), ("integer", 1))), Literal["a", 1]),
        (ListOf(TEXT), list[str]),
        (MapOf(ListOf(NULL)), dict[str, list[None]]),
        (Either((TEXT, NULL)), str | None),
        (Either((NULL, ListOf(TEXT))), list[str] | None),
        (Again(TEXT), str),
    ],
)
def test_a_shape_has_its_annotation(shape: Any, kind: Any):
    assert annotation(shape, {}) == kind


def test_one_and_true_stay_two_literals():
    assert annotation(Options((("boolean", True),)), {}) != annotation(Options((("integer", 1),)), {})


def test_it_is_a_frozen_slotted_dataclass_with_named_arguments_only():
    issue = made(must("title"), may("class", "class_"))
    one = issue(title="t")

    assert issue.__dataclass_params__.frozen
    assert issue.__slots__ == ("title", "class_")
    assert not hasattr(one, "__dict__")
    assert [field.name for field in dataclasses.fields(issue)] == ["title", "class_"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.title = "u"
    with pytest.raises(TypeError):
        issue("t")
    with pytest.raises(TypeError):
        issue()
    with pytest.raises(TypeError):
        issue(title="t", other=1)


def test_what_is_not_given_is_unset_and_may_be_replaced():
    one = made(must("title"), may("body"))(title="t")

    assert one.body is UNSET
    assert dataclasses.replace(one, body="b").body == "b"


def test_two_with_the_same_in_them_are_equal():
    issue = made(must("title"), may("body"))
    other = made(must("title"), may("body"))

    assert issue(title="t") == issue(title="t")
    assert hash(issue(title="t")) == hash(issue(title="t"))
    assert issue(title="t") != issue(title="t", body="b")
    assert issue(title="t") != other(title="t")
    assert issue(title="t") != "t"


def test_it_prints_as_it_is_made():
    assert repr(made(must("title"), may("body"))(title="t")) == "Issue(title='t', body=UNSET)"


def test_its_types_can_be_read_where_python_reads_them():
    issue = made(must("title"), may("body"), rest=NULL)
    expected = {"title": str, "body": str | Unset, "additional": dict[str, None] | Unset}

    assert get_type_hints(issue) == expected
    assert {field.name: field.type for field in dataclasses.fields(issue)} == expected
    assert {p.name: p.annotation for p in inspect.signature(issue).parameters.values()} == expected
    assert issue.__doc__ == "words"


def test_the_name_in_json_is_kept_where_it_is_another():
    fields = dataclasses.fields(made(must("title"), may("class", "class_"), rest=ANYTHING))

    assert [dict(field.metadata) for field in fields] == [{}, {"json": "class"}, {"additional": True}]


def test_classes_may_be_of_each_other():
    one, other = Struct("One"), Struct("Other")
    one.members = (Member("other", "other", other, required=False),)
    other.members = (Member("ones", "ones", ListOf(one), required=True),)
    classes: Any = classes_of([one, other])

    assert get_type_hints(classes[one]) == {"other": classes[other] | Unset}
    assert get_type_hints(classes[other]) == {"ones": list[classes[one]]}


@pytest.mark.parametrize(
    "name", ["self", "other", "cls", "MISSING", "object", "keys", "field", "name", "value", "type"]
)
def test_no_name_gets_in_the_way_of_how_they_are_made(name: str):
    issue = made(may(name), must("title"))

    assert getattr(issue(**{"title": "t", name: "x"}), name) == "x"
    assert issue(title="t") == issue(title="t")


def test_five_hundred_fields_are_no_more_than_that():
    issue = made(*(may(f"p{number}") for number in range(500)))

    assert issue(p499="x").p499 == "x"


def test_a_union_of_one_is_that_one():
    assert any_of([str]) is str
