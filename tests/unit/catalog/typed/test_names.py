"""Names that Python takes, for whatever others have named."""

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.typed.names import RESERVED, Names, class_name, field_names, identifier


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("owner", "owner"), ("class", "class_"), ("from", "from_"), ("None", "None_"), ("list", "list_")),
        *(("1st", "field_1st"), ("a-b", "a_b"), ("a b", "a_b"), ("_x", "x"), ("__init__", "init__"), ("self", "self")),
        *(
            ("", "field"),
            ("___", "field"),
            ("日本", "field"),
            ("é", "e"),
            ("größe", "gro_e"),
            ("ﬁ", "fi"),
            ("а", "field"),
        ),
        *(("a\nb", "a_b"), ("match", "match"), ("x" * 500, "x" * 80)),
    ],
)
def test_a_text_becomes_the_nearest_name(text: str, name: str):
    assert identifier(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("github_create_issue", "GithubCreateIssue"),
        ("a-b", "AB"),
        ("camelCase", "CamelCase"),
        ("2fa", "Tool2fa"),
        ("", "Tool"),
        ("__", "Tool"),
        ("class", "Class"),
    ],
)
def test_a_class_is_named_in_words(text: str, name: str):
    assert class_name(text) == name


def test_a_name_that_is_taken_gets_a_number():
    names = Names(["a", "a_2"])

    assert [names.take("a"), names.take("a"), names.take("b")] == ["a_3", "a_4", "b"]


def test_a_key_that_is_a_good_name_keeps_it_whatever_comes_first():
    assert field_names(["a-b", "a_b", "a b"]) == {"a_b": "a_b", "a b": "a_b_2", "a-b": "a_b_3"}
    assert field_names(["a b", "a_b", "a-b"]) == field_names(["a-b", "a b", "a_b"])


def test_no_field_is_called_like_a_class():
    assert field_names(["AParams", "AParamsX", "AP"], ("AParams",)) == {
        "AP": "AP",
        "AParams": "field_AParams",
        "AParamsX": "field_AParamsX",
    }


def test_thousands_of_names_that_look_alike_take_no_time():
    keys = [f"{chr(0x4E00 + number)}" for number in range(5000)]

    assert len({*field_names(keys).values()}) == 5000


@given(st.sets(st.text(max_size=12), max_size=30))
def test_every_key_has_a_field_of_its_own(keys: set[str]):
    fields = field_names(keys, ("Root",))

    assert fields.keys() == keys
    assert len({*fields.values()}) == len(keys)
    for name in fields.values():
        assert name.isidentifier()
        assert name.isascii()
        assert not keyword.iskeyword(name)
        assert name not in RESERVED
        assert not name.startswith(("_", "Root"))
