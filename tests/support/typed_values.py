"""What an annotation takes, read from Python's types alone and by nothing of ours: to hold dataclasses against schemas."""

from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Never, Union, get_args, get_origin, get_type_hints

from bascule import Unset

PLAIN = {str: str, bool: bool, None: NoneType, NoneType: NoneType}


def takes(kind: Any, value: Any) -> bool:
    """Whether a JSON value is of a type. True is no number here, and 1.0 is the integer that it is in JSON."""
    if kind is Any:
        return True
    if kind is Never or kind is Unset:
        return False
    if kind in PLAIN:
        return isinstance(value, PLAIN[kind])
    if kind in (int, float):
        return is_number(value) and (kind is float or value == int(value))
    if is_dataclass(kind):
        return takes_members(kind, value)
    return takes_parts(get_origin(kind), get_args(kind), value)


def takes_parts(origin: Any, args: tuple[Any, ...], value: Any) -> bool:
    if origin in (Union, UnionType):
        return any(takes(arg, value) for arg in args)
    if origin is Literal:
        return any(same(arg, value) for arg in args)
    if origin is list:
        return isinstance(value, list) and all(takes(args[0], part) for part in value)
    assert origin is dict, origin
    return isinstance(value, dict) and all(takes(args[1], part) for part in value.values())


def takes_members(kind: Any, value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    hints, left = get_type_hints(kind), dict(value)
    rest = [field for field in fields(kind) if field.metadata.get("additional")]
    for field in fields(kind):
        key = field.metadata.get("json", field.name)
        if field in rest:
            continue
        if key not in left:
            if Unset not in get_args(hints[field.name]):
                return False
        elif not takes(hints[field.name], left.pop(key)):
            return False
    return not left or (bool(rest) and takes(hints[rest[0].name], left))


def same(one: Any, other: Any) -> bool:
    """As JSON has it: 1 is 1.0, and neither is true."""
    if is_number(one) and is_number(other):
        return one == other
    return type(one) is type(other) and one == other


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(one: Any, other: Any) -> bool:
    """The same JSON, all the way down."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return same(one, other)
