"""Type guards for parsed JSON of unknown shape, and accessors that return an empty value for any other type."""

from typing import Any, TypeGuard

JsonObject = dict[str, Any]


def is_object(value: Any) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def as_object(value: Any) -> JsonObject:
    """The object itself, or an empty one."""
    return value if is_object(value) else {}


def as_array(value: Any) -> list[Any]:
    """The array itself, or an empty one."""
    return value if is_array(value) else []


def as_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
