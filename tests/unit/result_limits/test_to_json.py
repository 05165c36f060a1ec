"""Any value as JSON."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from bascule.result_limits.to_json import CIRCULAR, parts_of, scalar, written


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, None, True, "é"]}, '{"a":[1,null,true,"é"]}'),
        ([datetime(2026, 1, 1, tzinfo=UTC)], '["2026-01-01T00:00:00Z"]'),
        ([float("nan")], "[null]"),
        ({(1, 2): 3}, '{"(1, 2)":3}'),
        (["\ud800"], '["\\ud800"]'),
        ([object], "[\"<class 'object'>\"]"),
    ],
)
def test_what_json_cannot_say_is_told_in_words(value: Any, expected: str):
    assert written(value).decode() == expected


def test_a_number_too_long_to_be_written_in_decimals_is_written_otherwise():
    assert json.loads(written([10**6000])) == [hex(10**6000)]


def test_depth_and_circles_end():
    value: Any = []
    for _ in range(20_000):
        value = [value, 1]
    assert written(value) == b"[" * 20_001 + b"]" + b",1]" * 20_000
    circle: dict[str, Any] = {"x": {}}
    circle["x"]["y"] = circle
    assert json.loads(written(circle)) == {"x": {"y": CIRCULAR}}


def test_what_only_stands_twice_is_no_circle():
    both = [{(1,): 1}]
    assert written([both, both]) == b'[[{"(1,)":1}],[{"(1,)":1}]]'


def test_scalars_and_parts():
    assert [scalar(each) for each in (None, True, 1, 1.5, "a", float("inf"))] == [
        "null",
        "true",
        "1",
        "1.5",
        '"a"',
        "null",
    ]
    assert parts_of(1) is None
    assert list(parts_of({"a": 1}) or ()) == [('"a":', 1)]
    assert list(parts_of((1, 2)) or ()) == [("", 1), ("", 2)]
