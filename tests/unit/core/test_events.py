"""Events, and arguments by their shape."""

from typing import Any

import pytest

from bascule.core.events import shape_of


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ("secret", "string[6]"),
        (None, "null"),
        (True, "boolean"),
        (7, "number"),
        (7.5, "number"),
        ([1, 2, 3], "array[3]"),
        ({"a": {"b": 1}}, "object[1]"),
        (b"raw", "bytes"),
    ],
)
def test_a_shape_says_what_and_how_much(value: Any, shape: str):
    assert shape_of({"argument": value}) == {"argument": shape}


def test_a_shape_never_holds_a_value():
    shown = str(shape_of({"token": "hunter2", "nested": {"password": "hunter2"}, "list": ["hunter2"]}))

    assert "hunter2" not in shown
    assert "password" not in shown
