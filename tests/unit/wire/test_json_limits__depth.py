"""How deep a JSON text nests."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.wire.json_limits import nests_deeper_than

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(r'[]{}"\ ab', max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(r'[]{}"\a', max_size=4), inner, max_size=5),
    max_leaves=60,
)


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(values, st.integers(0, 12))
def test_it_agrees_with_counting_levels_of_the_parsed_value(value: Any, limit: int):
    assert nests_deeper_than(json.dumps(value).encode(), limit) is (depth(value) > limit)


@pytest.mark.parametrize("levels", [1, 7, 8, 9, 200, 100_000])
def test_the_limit_itself_is_allowed_and_one_more_is_not(levels: int):
    text = b"[" * levels + b"]" * levels

    assert not nests_deeper_than(text, levels)
    assert nests_deeper_than(text, levels - 1)


@pytest.mark.parametrize("limit", [1, 2, 5, 7])
def test_many_shallow_values_are_not_deep(limit: int):
    assert nests_deeper_than(b"[" + b"[]," * 50 + b"[]]", 1)
    assert not nests_deeper_than(b"[" + b"1," * 50 + b"[]]", max(limit, 2))


def test_objects_count_like_arrays():
    assert nests_deeper_than(b'{"a":[{"b":[1]}]}', 3)
    assert not nests_deeper_than(b'{"a":[{"b":[1]}]}', 4)


@pytest.mark.parametrize("text", [rb'["[[[[[[[["]', rb'["\"[[[[[[[["]', rb'["\\","[[[[[[[["]', rb'["\\\"[[[[[[[["]'])
def test_brackets_inside_strings_do_not_count(text: bytes):
    json.loads(text)

    assert not nests_deeper_than(text, 1)


@pytest.mark.parametrize("offset", range(4))
def test_an_escape_is_understood_wherever_it_stands_in_a_long_text(offset: int):
    inside = "x" * offset + '\\"[' * 100_000
    text = json.dumps([inside]).encode()

    assert not nests_deeper_than(text, 1)
    assert nests_deeper_than(text[:-1] + b",[]]", 1)


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_every_kind_of_bytes_will_do(kind: Any):
    assert nests_deeper_than(kind(b"[[[]]]"), 2)
