"""Digests of tools and listings (SHA-256 over canonical JSON, RFC 8785), and a cheaper fingerprint that detects an
unchanged definition."""

import hashlib
import re
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec

from bascule.core.json_types import JsonObject, is_array, is_object

_encode_sorted = msgspec.json.Encoder(order="deterministic").encode
_encode_text = msgspec.json.Encoder().encode

_MAYBE_FLOAT = re.compile(rb"[0-9][.e]")


def canonical_json(value: Any) -> bytes:
    """The canonical bytes of a JSON value.

    An integer beyond the reach of a double keeps all its digits, where the RFC would round it: rounded, two different
    definitions could share one digest. NaN and infinities are null, as they would travel.
    """
    data = _encode_sorted(value)
    # The fast encoder differs from the RFC in two places only: how it writes floats, and how it sorts keys with
    # characters beyond ASCII.
    if data.isascii() and not _MAYBE_FLOAT.search(data):
        return data
    parts: list[bytes] = []
    _write(value, parts)
    return b"".join(parts)


def _write(value: Any, parts: list[bytes]) -> None:
    if is_object(value):
        _write_object(value, parts)
    elif is_array(value):
        _write_array(value, parts)
    elif isinstance(value, float):
        parts.append(_number(value).encode())
    else:
        parts.append(_encode_text(value))


def _write_object(value: dict[str, Any], parts: list[bytes]) -> None:
    mark = b"{"
    for key in sorted(value, key=_utf16):
        parts += (mark, _encode_text(key), b":")
        _write(value[key], parts)
        mark = b","
    parts.append(b"}" if value else b"{}")


def _write_array(value: list[Any], parts: list[bytes]) -> None:
    mark = b"["
    for item in value:
        parts.append(mark)
        _write(item, parts)
        mark = b","
    parts.append(b"]" if value else b"[]")


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _number(value: float) -> str:
    """A float as ECMAScript writes it."""
    if not isfinite(value):
        return "null"
    if value == 0:
        return "0"
    sign, digits, point = _shortest(value)
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    mantissa = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{sign}{mantissa}e{point - 1:+d}"


def _shortest(value: float) -> tuple[str, str, int]:
    """Sign, the fewest digits that give the value back, and where the decimal point stands among them."""
    negative, figures, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int), "only a finite float comes here"
    digits = "".join(map(str, figures))
    return "-" if negative else "", digits.rstrip("0"), len(digits) + exponent


def tool_digest(definition: JsonObject) -> str:
    """Over the whole definition as it came: a field we do not know may be one that a model reads."""
    return _sha256(canonical_json(definition))


def listing_digest(digests: Mapping[str, str], instructions: str) -> str:
    """Over every tool's digest and the server's instructions. The order of the tools does not matter."""
    return _sha256(canonical_json({"instructions": instructions, "tools": dict(digests)}))


def fingerprint_of(encoded: bytes) -> bytes:
    """Equal only if the JSON text is, so a new order of keys changes it. Spares the digest, and never leaves memory."""
    return hashlib.sha256(encoded).digest()


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
