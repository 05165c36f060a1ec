"""JSON encoding of any value. Values that JSON does not have become text at any depth, so that no part of a result is
lost."""

import json
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, cast

import msgspec

_encode = msgspec.json.Encoder(enc_hook=str).encode

_LONG = 10_000
"""Bits of a number that takes longer to write in decimals than it is worth; Python refuses at some length."""

CIRCULAR = "[the same again]"
"""Stands where a value holds itself."""


def written(value: Any) -> bytes:
    """The value as JSON in UTF-8."""
    try:
        return _encode(value)
    except (RecursionError, TypeError, ValueError, OverflowError):
        # Too deep, or with keys, numbers or texts that JSON does not have.
        data = bytearray()
        for piece in _pieces(value):
            data += piece.encode()
        return bytes(data)


def scalar(value: Any) -> str:
    """One value without parts."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=not _is_whole(value))
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() < _LONG else f'"{value:#x}"'
    if isinstance(value, float):
        return json.dumps(value) if isfinite(value) else "null"
    return json.dumps(str(value))


def _is_whole(text: str) -> bool:
    """Whether it can be sent on: halves of characters cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parts_of(value: Any) -> Iterator[tuple[str, Any]] | None:
    """What is in a list or an object, each with what stands before it. None for a value without parts."""
    if isinstance(value, Mapping):
        return ((f"{scalar(str(key))}:", item) for key, item in cast("Mapping[Any, Any]", value).items())
    if isinstance(value, list | tuple | set | frozenset):
        return (("", item) for item in cast("list[Any]", value))
    return None


def _pieces(value: Any) -> Iterator[str]:
    """Without a call for each level: a value may be deeper than the stack."""
    levels: list[tuple[Iterator[tuple[str, Any]], str, int]] = [(iter((("", value),)), "", 0)]
    around: set[int] = set()
    first = True
    while levels:
        parts, closing, who = levels[-1]
        found = next(parts, None)
        if found is None:
            levels.pop()
            around.discard(who)
            yield closing
            first = False
            continue
        name, item = found
        key = id(item)
        inner = None if key in around else parts_of(item)
        yield name if first else f",{name}"
        if inner is None:
            yield scalar(CIRCULAR if key in around else item)
        else:
            opening, closing = "{}" if isinstance(item, Mapping) else "[]"
            levels.append((inner, closing, key))
            around.add(key)
            yield opening
        first = inner is not None
