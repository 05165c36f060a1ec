"""Looking at parsed JSON of unknown shape."""

from typing import Any

import pytest

from bascule.core.json_types import as_array, as_object, as_text, is_array, is_object

OTHERS: list[Any] = [None, True, 0, 1.5, "text", (1,)]


def test_an_object_is_given_back_itself():
    value = {"a": 1}

    assert is_object(value)
    assert as_object(value) is value


def test_an_array_is_given_back_itself():
    value = [1]

    assert is_array(value)
    assert as_array(value) is value


@pytest.mark.parametrize("value", [*OTHERS, []])
def test_what_is_no_object_counts_as_an_empty_one(value: Any):
    assert not is_object(value)
    assert as_object(value) == {}


@pytest.mark.parametrize("value", [*OTHERS, {}])
def test_what_is_no_array_counts_as_an_empty_one(value: Any):
    assert not is_array(value)
    assert as_array(value) == []


def test_only_text_is_text():
    assert as_text("") == ""
    assert [as_text(value) for value in (None, 1, b"a", ["a"])] == [None] * 4
