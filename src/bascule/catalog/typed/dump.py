"""Serialisation of dataclasses to JSON: names as the server has them, and no field that was not given."""

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol, TypeGuard

from bascule.catalog.typed.classes import KEY, REST
from bascule.core.errors import InvalidArguments
from bascule.core.json_types import JsonObject, is_array, is_object
from bascule.core.unset import UNSET

MAX_PLANS = 4096
"""Dataclasses whose fields are remembered."""


class Instance(Protocol):
    """An instance of any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def own_arguments(given: "Mapping[str, Any] | Instance | None") -> JsonObject:
    """A copy of a mapping, or what a dataclass holds: the caller may change theirs before the call is even begun.
    Raises `TypeError` for what is neither."""
    plain: Any = given or {}
    try:
        return dict(plain)
    except TypeError:
        return dumped_arguments(plain)


def dumped_arguments(given: "Mapping[str, Any] | Instance | None") -> JsonObject:
    """The arguments that a dataclass holds. Raises `TypeError` for what holds none."""
    if not _is_instance(given):
        raise TypeError(f"arguments are a mapping or a dataclass, not {type(given).__name__}")
    try:
        return _dumped_struct(given)
    except RecursionError:
        raise InvalidArguments("the arguments nest too deep, or hold themselves") from None


def dumped(value: Any) -> Any:
    """A value as JSON has it. What JSON does not have stays as it is, for whoever checks the whole to refuse."""
    if is_object(value):
        return {key: dumped(inner) for key, inner in value.items()}
    if is_array(value):
        return [dumped(inner) for inner in value]
    return _dumped_struct(value) if _is_instance(value) else value


def _dumped_struct(struct: Instance) -> JsonObject:
    kind: type[Instance] = type(struct)
    named, rest = _plan(kind)
    whole: JsonObject = {}
    for name, key in named:
        value = getattr(struct, name)
        if value is not UNSET:
            whole[key] = dumped(value)
    if rest and (more := getattr(struct, rest)) is not UNSET:
        _refuse_names_of_fields(more, dict(named), rest)
        whole |= dumped(more)
    return whole


def _refuse_names_of_fields(more: Any, named: Mapping[str, str], rest: str) -> None:
    twice = sorted(name for name, key in named.items() if key in more)
    if twice:
        raise InvalidArguments(f"`{rest}` holds what has a field of its own: {', '.join(twice)}")


@lru_cache(MAX_PLANS)
def _plan(kind: type[Instance]) -> tuple[tuple[tuple[str, str], ...], str]:
    """The fields with their keys, and the field for the rest."""
    rest = [field.name for field in fields(kind) if field.metadata.get(REST)]
    named = tuple((field.name, key_of(field)) for field in fields(kind) if field.name not in rest)
    return named, rest[0] if rest else ""


def key_of(field: Field[Any]) -> str:
    """What a field is called in JSON."""
    key = field.metadata.get(KEY)
    return key if isinstance(key, str) else field.name


def _is_instance(value: Any) -> TypeGuard[Instance]:
    return is_dataclass(value) and not isinstance(value, type)
