"""Values in few characters."""

from typing import Any

import pytest

from bascule.config.model.result_presets import Preset
from bascule.result_limits.json_preview import head_and_tail, is_rows, outline

FEW = Preset(head_items=2, tail_items=1, head_rows=1, tail_rows=1, keys=2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1, 2, 3], "[1, 2, 3]"),
        ([1, 2, 3, 4, 5], "[1, 2, … 2 more …, 5]"),
        ([{"a": 1}, {"a": 2}, {"a": 3}], '[{"a": 1}, … 1 more …, {"a": 3}]'),
        ({"a": 1, "b": 2, "c": 3}, '{"a": 1, "b": 2, … 1 more key}'),
        ({}, "{}"),
        ([], "[]"),
        ("é", '"é"'),
    ],
)
def test_what_is_left_out_is_told(value: Any, expected: str):
    assert outline(value, FEW, 100) == expected


@pytest.mark.parametrize("room", [1, 2, 10, 50])
def test_it_never_takes_more_than_its_room(room: int):
    assert len(outline([{"a": "x" * 500}] * 50, FEW, room)) <= room


def test_one_long_text_leaves_room_for_others():
    shown = outline({"a": "x" * 500, "b": 7}, FEW, 200)
    assert shown.endswith('"b": 7}')


def test_depth_ends():
    value: Any = 1
    for _ in range(500):
        value = [value]
    assert outline(value, FEW, 5000).startswith("[[[[[[[[[[[[[… 1 item]")


def test_rows_are_told_from_items():
    assert is_rows([{}, 1, {}])
    assert not is_rows([{}, 1])
    assert not is_rows([])
    assert head_and_tail([1, 2], FEW) == (2, 0)
    assert head_and_tail([{}] * 9, FEW) == (1, 1)
