"""Limits for JSON texts: number of values, and nesting depth."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bascule.core.errors import ProtocolViolation
from bascule.wire import json_limits
from bascule.wire.json_limits import (
    MANY_CONTAINERS,
    MANY_VALUES,
    PIECE,
    nests_deeper_than,
    refuse_dense,
    unescaped_pieces,
)
from bascule.wire.jsonrpc import read_message

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(r'[]{},"\ ab', max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(r'[]{},"\a', max_size=4), inner, max_size=5),
    max_leaves=60,
)


def containers(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, dict | list) + sum(map(containers, inner))


def refused(text: bytes) -> str:
    try:
        refuse_dense(text)
    except ProtocolViolation as violation:
        return violation.message
    return ""


@settings(max_examples=50)
@given(values, st.integers(1, 4000))
def test_brackets_within_strings_count_for_nothing(value: Any, padding: int):
    text = json.dumps([value, "[{," * padding]).encode()
    found = b"".join(json_limits._outside_of_strings(text))

    assert found.count(b"[") == 1 + containers(value)


@pytest.mark.parametrize("unit", [b"{}", b'{"a":1}', b"[]", b'{"name": "t"}', b'[{"\\"": []}]'])
def test_too_many_small_objects_are_refused_whatever_is_in_them(unit: bytes):
    assert "objects and lists" in refused(b"[" + b",".join([unit] * (MANY_CONTAINERS + 1)) + b"]")


@pytest.mark.parametrize("unit", [b"1", b'"ab"', b"null", b'"\\\\"', b'"\\"["'])
def test_too_many_small_values_are_refused(unit: bytes):
    assert "values" in refused(b"[" + b",".join([unit] * (MANY_VALUES + 2)) + b"]")


def test_as_many_as_are_allowed_are_allowed():
    assert refused(b"[" + b",".join([b"1"] * MANY_VALUES) + b"]") == ""
    assert refused(b"[" + b",".join([b"{}"] * (MANY_CONTAINERS - 1)) + b"]") == ""


def test_a_long_text_may_hold_more_values_than_a_short_one():
    long = b'"' + b"x" * 40 + b'"'

    assert refused(b"[" + b",".join([long] * (MANY_VALUES + 2)) + b"]") == ""


def test_text_that_looks_like_many_objects_is_one_value():
    assert refused(json.dumps({"text": '{"a": [1, 2]},' * 300_000}).encode()) == ""


def test_a_message_is_refused_before_anything_is_built_from_it():
    message = b'{"jsonrpc":"2.0","id":1,"result":{"x":[' + b",".join([b"{}"] * 500_000) + b"]}}"

    with pytest.raises(ProtocolViolation, match="objects and lists"):
        read_message(message)


def without_escapes(text: bytes) -> bytes:
    return b"".join(unescaped_pieces(text))


def test_escaped_quotes_and_backslashes_are_gone_and_the_rest_stays():
    assert without_escapes(rb'{"a\"b": "c\\", "d\n": "\\\""}') == rb'{"ab": "c", "d\n": ""}'


@pytest.mark.parametrize("before", range(PIECE - 4, PIECE + 2))
@pytest.mark.parametrize("escaped", [rb"\"", rb"\\", rb"\\\"", rb"\\\\"])
def test_an_escape_is_never_cut_in_two(before: int, escaped: bytes):
    assert without_escapes(b"x" * before + escaped + b'"') == b"x" * before + b'"'


def test_no_piece_is_much_longer_than_another():
    assert max(map(len, unescaped_pieces(b"x" * (3 * PIECE + 7)))) == PIECE


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
