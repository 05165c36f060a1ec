"""Previews of JSON, and outlines of values."""

import json
from typing import Any

import pytest

from bascule.config.model.result_presets import Preset
from bascule.result_limits.budget import Parts
from bascule.result_limits.json_preview import SHORT, head_and_tail, is_rows, json_parts, outline, value_parts
from bascule.result_limits.source_bytes import Whole

FEW = Preset(head_rows=2, tail_rows=1, head_items=2, tail_items=1, keys=2)
ROWS = [{"id": n, "name": "n" * 30} for n in range(10_000)]


def shown(parts: Parts | None) -> list[str]:
    assert parts is not None
    return [unit(99) for unit in (*parts.header, *parts.head, *parts.tail)]


@pytest.mark.parametrize(
    ("value", "word", "expected"),
    [
        ([1, 2, 3, 4], "items", ["1", "2", "4"]),
        ([{"a": 1}] * 4, "rows", ['{"a": 1}'] * 3),
        ({"a": 1, "b": [2], "c": 3}, "keys", ['"a": 1', '"b": [2]']),
    ],
)
def test_a_value_by_what_it_consists_of(value: Any, word: str, expected: list[str]):
    assert value_parts(value, FEW).word == word
    assert shown(value_parts(value, FEW)) == expected
    assert shown(json_parts(Whole.of_text(json.dumps(value)), FEW)) == expected


@pytest.mark.parametrize("text", ["[1,", "{a}", "[" * 1000 + "]" * 1000, "[1] [2]"])
def test_what_only_looks_like_json_is_none(text: str):
    assert json_parts(Whole.of_text(text), FEW) is None


def test_a_long_list_is_read_from_its_beginning_alone():
    text = json.dumps(ROWS)
    assert len(text) > SHORT
    parts = json_parts(Whole.of_text(text), FEW)
    assert shown(parts) == [json.dumps(row) for row in ROWS[:2]]
    assert parts is not None
    assert parts.last is not None
    assert text.endswith(parts.last(50))
    assert len(parts.last(50)) == 50


def test_a_long_list_inside_is_found_and_what_stands_before_it_is_shown():
    parts = json_parts(Whole.of_text(json.dumps({"total": 3, "data": {"rows": ROWS * 3}})), FEW)
    assert parts is not None
    assert parts.word == "rows of .data.rows"
    assert shown(parts) == ['"total": 3', *(json.dumps(row) for row in ROWS[:2])]


def test_a_long_list_of_numbers_is_items():
    parts = json_parts(Whole.of_text(json.dumps(list(range(200_000)))), FEW)
    assert parts is not None
    assert parts.word == "items"
    assert shown(parts) == ["0", "1"]


@pytest.mark.parametrize("middle", ["x", "1 2", '"a" "b",', "[" * 200_000])
def test_a_long_text_that_is_no_json_is_none(middle: str):
    assert json_parts(Whole.of_text(f"[{middle}{' ' * SHORT}]"), FEW) is None


def test_a_long_text_under_one_name_shows_what_can_be_shown():
    parts = json_parts(Whole.of_text(json.dumps({"a": 1, "text": "x" * 900_000})), FEW)
    assert shown(parts) == ['"a": 1']


FEW_ITEMS = Preset(head_items=2, tail_items=1, head_rows=1, tail_rows=1, keys=2)


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
    assert outline(value, FEW_ITEMS, 100) == expected


@pytest.mark.parametrize("room", [1, 2, 10, 50])
def test_it_never_takes_more_than_its_room(room: int):
    assert len(outline([{"a": "x" * 500}] * 50, FEW_ITEMS, room)) <= room


def test_one_long_text_leaves_room_for_others():
    text = outline({"a": "x" * 500, "b": 7}, FEW_ITEMS, 200)
    assert text.endswith('"b": 7}')


def test_depth_ends():
    value: Any = 1
    for _ in range(500):
        value = [value]
    assert outline(value, FEW_ITEMS, 5000).startswith("[[[[[[[[[[[[[… 1 item]")


def test_rows_are_told_from_items():
    assert is_rows([{}, 1, {}])
    assert not is_rows([{}, 1])
    assert not is_rows([])
    assert head_and_tail([1, 2], FEW_ITEMS) == (2, 0)
    assert head_and_tail([{}] * 9, FEW_ITEMS) == (1, 1)
