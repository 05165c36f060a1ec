"""Duplicate keys in a JSON-RPC message: of two values for one key, one parser keeps the first and another the last.

Our parser keeps the last value and does not report the loss. So the members of the text are counted, and those of the
parsed message. If the text has more, a second, slower parser looks for the key.
"""

import gc
import json
from typing import Any

import msgspec

from bascule.core.json_types import as_array, is_object
from bascule.wire.jsonrpc import Message

_write = msgspec.json.Encoder().encode

LONG = 4096
"""Bytes from which the strings of a message are skipped one by one. A shorter message is written again in less time."""

FEW = 100
"""Values and quotes up to which that is done: enough for a long text with a few arguments beside it."""


def duplicate_key(data: bytes | bytearray, message: Message) -> str | None:
    """A key that an object of the message has twice, at any depth; None if there is none. The message was parsed from
    `data`."""
    if len(data) >= LONG and (members := _members_of(message)) is not None and members == _members_in(data):
        return None
    # One for each member, and those in strings.
    colons = data.count(b":")
    if b"\\u003" in data:
        # An escaped colon; or an escaped backslash before such text, which costs the second parse and no more.
        colons += data.count(b"\\u003a") + data.count(b"\\u003A")
    # The writer escapes no colon, and writes no member that the text did not have.
    if _write(message).count(b":") == colons:
        return None
    return _looked_for(data)


def _members_of(message: Message) -> int | None:
    """Members of all objects of a parsed message; None beyond `FEW` values."""
    fields = msgspec.structs.asdict(message)
    waiting: list[Any] = [
        {name: each for name, each in fields.items() if each is not None and each is not msgspec.UNSET}
    ]
    count = seen = 0
    while waiting and seen + len(waiting) <= FEW:
        value = waiting.pop()
        seen += 1
        if is_object(value):
            count += len(value)
            waiting += value.values()
        else:
            waiting += as_array(value)
    return None if waiting else count


def _members_in(data: bytes | bytearray) -> int | None:
    """Members of all objects of a JSON text, which are its colons outside of strings; None beyond `FEW` quotes."""
    count = start = 0
    inside = False
    for _ in range(FEW):
        quote = data.find(b'"', start)
        if quote < 0:
            return count + data.count(b":", start)
        if not inside:
            count += data.count(b":", start, quote)
            inside = True
        else:
            before = data[start:quote]
            # After an odd number of backslashes the quote is a part of the string.
            inside = (len(before) - len(before.rstrip(b"\\"))) % 2 == 1
        start = quote + 1
    return None


class _Twice(Exception):
    """Ends the second parse at the first duplicate key, which is its argument."""


def _looked_for(data: bytes | bytearray) -> str | None:
    collecting = gc.isenabled()
    # As for the first parse: the collector would make many small objects quadratic.
    gc.disable()
    try:
        # Numbers stay text: large ones would take longer than linear time.
        json.loads(str(data, "utf-8"), object_pairs_hook=_refuse_twice, parse_int=str, parse_float=str)
    except _Twice as found:
        return str(found)
    finally:
        if collecting:
            gc.enable()
    return None


def _refuse_twice(members: list[tuple[str, Any]]) -> None:
    """Raises `_Twice`. The object itself is not needed."""
    if len(dict(members)) == len(members):
        return
    known = set[str]()
    for key, _ in members:
        if key in known:
            raise _Twice(key)
        known.add(key)
