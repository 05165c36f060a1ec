"""Digests of tools and listings, and canonical JSON."""

import json
import random
import re
import struct
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.digest import canonical_json, fingerprint_of, listing_digest, tool_digest

TOOL: dict[str, Any] = {
    "name": "read",
    "title": "Read",
    "description": "Reads.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number", "maximum": 1.5}}},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "_meta": {"vendor/colour": "red"},
}


def test_a_digest_names_its_algorithm():
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", tool_digest(TOOL))


def test_a_digest_does_not_change_with_the_program():
    assert tool_digest({"name": "a"}) == "sha256:d9d719b27480b55cd4918020e7473e716ed3569c8adafe926cf9b10b4f8ef064"


def test_the_order_of_keys_is_no_change():
    reordered = {key: TOOL[key] for key in reversed(TOOL)}
    reordered["inputSchema"] = dict(reversed(TOOL["inputSchema"].items()))

    assert tool_digest(reordered) == tool_digest(TOOL)


@pytest.mark.parametrize("field", [*TOOL, "aFieldNobodyKnows"])
def test_a_change_in_any_field_changes_the_digest(field: str):
    assert tool_digest(TOOL | {field: "changed"}) != tool_digest(TOOL)


def test_a_change_deep_inside_changes_the_digest():
    deep = TOOL | {"_meta": {"vendor/colour": "rot"}}

    assert tool_digest(deep) != tool_digest(TOOL)


def test_a_listing_is_the_same_in_any_order():
    assert listing_digest({"a": "1", "b": "2"}, "hi") == listing_digest({"b": "2", "a": "1"}, "hi")


@pytest.mark.parametrize(
    ("digests", "instructions"), [({"a": "1"}, "hi"), ({"a": "1", "b": "3"}, "hi"), ({"a": "1", "b": "2"}, "ho")]
)
def test_a_listing_changes_with_its_tools_and_its_instructions(digests: dict[str, str], instructions: str):
    assert listing_digest(digests, instructions) != listing_digest({"a": "1", "b": "2"}, "hi")


def test_equal_bytes_have_equal_fingerprints():
    assert fingerprint_of(b"a") == fingerprint_of(b"a") != fingerprint_of(b"b")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e15, 1e15) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=15,
)


def shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        members = [(key, shuffled(inner, chance)) for key, inner in value.items()]
        chance.shuffle(members)
        return dict(members)
    return [shuffled(inner, chance) for inner in value] if isinstance(value, list) else value


@given(json_values, st.randoms(use_true_random=False))
def test_the_order_of_keys_never_matters(value: Any, chance: random.Random):
    assert canonical_json(shuffled(value, chance)) == canonical_json(value)


@given(json_values)
def test_the_text_says_the_same_as_the_value(value: Any):
    assert json.loads(canonical_json(value)) == value


@given(json_values, json_values)
def test_different_values_have_different_texts(one: Any, other: Any):
    plain = msgspec.json.encode(one, order="sorted"), msgspec.json.encode(other, order="sorted")

    if json.loads(plain[0]) != json.loads(plain[1]):
        assert canonical_json(one) != canonical_json(other)


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_floats_are_written_as_the_standard_shows(bits: str, text: str):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))

    assert canonical_json(value) == text.encode()


def test_a_float_that_is_whole_is_written_like_the_integer():
    assert canonical_json({"a": 1.0}) == canonical_json({"a": 1}) == b'{"a":1}'


def test_integers_no_float_can_hold_keep_all_their_digits():
    assert canonical_json(2**53 + 1) == b"9007199254740993"
    assert canonical_json([0.5, 2**64 + 1]) == b"[0.5,18446744073709551617]"


def test_keys_are_sorted_by_their_utf16_units():
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    text = canonical_json(dict.fromkeys(keys, 0))

    assert list(json.loads(text)) == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


@pytest.mark.parametrize("extra", ["", "é", "1.5"], ids=["short way", "long way for letters", "long way for floats"])
def test_only_what_must_be_escaped_is(extra: str):
    text = '\u0000\u001f\b\t\n\f\r"\\/\u007f' + extra

    expected = b'"\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\/\x7f' + extra.encode() + b'"'
    assert canonical_json(text) == expected


@pytest.mark.parametrize("value", [{}, [], {"a": {}}, {"a": [], "b": 0.5}, [[], {}, 0.5]])
def test_empty_containers_are_written_whole(value: Any):
    assert canonical_json(value) == json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def test_what_is_no_number_is_null_as_it_would_travel():
    assert canonical_json([float("nan"), float("inf"), 0.5]) == b"[null,null,0.5]"
