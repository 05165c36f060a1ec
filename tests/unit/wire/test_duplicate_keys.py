"""Duplicate keys of a JSON-RPC message, found at any depth and in any spelling, and never where there are none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.wire.duplicate_keys import FEW, LONG, duplicate_key
from bascule.wire.jsonrpc import read_message

PADDING = "x" * LONG


def found(text: str | bytes) -> str | None:
    data = text if isinstance(text, bytes) else text.encode()
    assert duplicate_key(bytearray(data), read_message(bytearray(data))) == duplicate_key(data, read_message(data))
    return duplicate_key(data, read_message(data))


def call(arguments: str, before: str = "") -> str:
    return f'{{"jsonrpc": "2.0", "id": 1, {before} "method": "tools/call", "params": {{"arguments": {arguments}}}}}'


@pytest.mark.parametrize("padding", ["", f'"p": "{PADDING}", ', f'"p": [{", ".join("1" * 2000)}], '])
@pytest.mark.parametrize(
    ("members", "key"),
    [
        ('"a": 1, "a": 1', "a"),
        ('"a" : 1,"a"\n:{}', "a"),
        ('"a": {"b": [[{"c": 1, "c": 2}]]}', "c"),
        ('"a": 1, "\\u0061": 2', "a"),
        ('"a:": 1, "a\\u003a": 2', "a:"),
        ('"": 1, "": 2', ""),
        ('"é": 1, "\\u00E9": 2', "é"),
        ('"a\\"": 1, "a\\"": 2', 'a"'),
        # Escapes that change the number of colons in the bytes.
        ('"a": 1, "a": 2, "t": "\\u003a"', "a"),
        ('"a": 1, "a": 2, "t": "\\u003A\\u003A"', "a"),
        ('"a": 1, "a": 2, "t": "\\u005cu003a"', "a"),
        ('"a": 1, "a": 2, "t": "\\\\u003a"', "a"),
        ('"a": 1, "a": "::::", "t": "\\\\\\u003a"', "a"),
        ('"a": "\\\\", "a": 2, "t": "\\""', "a"),
    ],
)
def test_a_key_that_an_object_has_twice_is_found(members: str, key: str, padding: str):
    assert found(call(f"{{{padding}{members}}}")) == key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"jsonrpc": "2.0", "id": 1, "method": "a", "method": "b"}', "method"),
        ('{"jsonrpc": "2.0", "method": "a", "params": {}, "params": {}}', "params"),
        ('{"jsonrpc": "2.0", "id": null, "id": 1, "result": {}}', "id"),
        ('{"jsonrpc": "2.0", "id": 1, "result": null, "result": {}}', "result"),
        ('{"jsonrpc": "2.0", "id": 1, "method": "a", "more": 1, "more": 2}', "more"),
        ('{"jsonrpc": "2.0", "id": 1, "method": "a", "more": {"b": 1, "b": 2}}', "b"),
    ],
)
def test_so_is_one_of_the_message_itself(text: str, key: str):
    assert found(text) == key
    assert found(text.replace('"jsonrpc"', f'"more still": "{PADDING}", "jsonrpc"')) == key


@pytest.mark.parametrize("padding", ["", f'"p": "{PADDING}", ', f'"p": [{", ".join("1" * 2000)}], '])
@pytest.mark.parametrize(
    "members",
    [
        '"a": 1, "b": {"a": 1}, "c": [{"a": 1}, {"a": 1}]',
        '"a": "{\\"a\\": 1, \\"a\\": 2}"',
        '"a": "\\u003a", "b": "\\\\u003a", "c": "\\u005cu003a"',
        '"a": ":::\\\\", "b:": "\\""',
        '"a": 1e300, "b": 123456789012345678901234567890, "c": -0.0, "d": null',
        '"a": "\\u0000\\n\\ud83d\\ude00"',
    ],
)
def test_what_stands_once_in_each_object_is_no_duplicate(members: str, padding: str):
    assert found(call(f"{{{padding}{members}}}")) is None
    assert found(call(f"{{{padding}{members}}}", before='"more": null,')) is None


@pytest.mark.parametrize("text", ['{"id": null, "method": null, "params": null, "jsonrpc": null}', "{}"])
def test_absent_and_null_are_no_duplicates(text: str):
    assert found(text) is None


@pytest.mark.parametrize("quotes", range(FEW - 16, FEW + 16))
def test_it_does_not_matter_how_many_strings_there_are(quotes: int):
    text = '\\"' * quotes + PADDING
    assert found(call(f'{{"t": "{text}", "a": 1}}')) is None
    assert found(call(f'{{"t": "{text}", "a": 1, "a": 2}}')) == "a"


TEXTS = st.text(st.sampled_from('ab:"\\u03\x01é😀'), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(TEXTS, inner), max_size=4).map(dict),
    max_leaves=12,
)


def spelled(draw: Any, text: str) -> str:
    """A string of JSON in which some characters are escaped without need."""
    parts = [f"\\u{ord(c):04x}" if ord(c) < 0x10000 and draw(st.booleans()) else json.dumps(c)[1:-1] for c in text]
    return '"' + "".join(parts) + '"'


def written(draw: Any, value: Any) -> str:
    """JSON of a value, in which each object may have one of its members twice."""
    if isinstance(value, str):
        return spelled(draw, value)
    if isinstance(value, list):
        items: list[Any] = value
        return f"[{','.join(written(draw, each) for each in items)}]"
    if not isinstance(value, dict):
        return json.dumps(value)
    given: dict[str, Any] = value
    members = [*given.items()]
    if members and draw(st.integers(0, 3)) == 0:
        members.append((draw(st.sampled_from(members))[0], draw(VALUES)))
    return "{" + " , ".join(f"{spelled(draw, key)} :{written(draw, each)}" for key, each in members) + "}"


@st.composite
def messages(draw: Any) -> str:
    padding = draw(st.sampled_from(["", PADDING]))
    params = written(draw, {"p": padding, "v": draw(VALUES)})
    return f'{{"jsonrpc":"2.0","id":{draw(st.sampled_from(["1", "null"]))},"method":"m","params":{params}}}'


def has_twice(text: str) -> bool:
    twice: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: twice.append(len({key for key, _ in pairs}) < len(pairs)))
    return any(twice)


@given(messages())
def test_nothing_is_missed_and_nothing_is_made_up(text: str):
    assert (found(text) is not None) is has_twice(text)
