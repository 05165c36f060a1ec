"""Tool permissions (read, write, connect): `@tool_permission`, without which a tool is not registered, and their words
in `_meta`."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from bascule.core.errors import UsageError
from bascule.core.json_types import is_array
from bascule.core.permission import Permission

PERMISSIONS_KEY = "dev.bascule/permissions"
"""In a tool's `_meta`: what it may do, as a list of words."""

ToolPermission = Permission

_MARK = "__bascule_permissions__"

Tool = TypeVar("Tool", bound=Callable[..., Any])


def tool_permission(*permissions: ToolPermission) -> Callable[[Tool], Tool]:
    """Say what a tool does: READ something, WRITE something, CONNECT to the outside; or several of these."""
    # Without its brackets, the decorator is given the function itself.
    if not permissions or not set(permissions) <= set(Permission):
        raise UsageError(
            f"tool_permission needs what the tool does, and was given {_shown(permissions)}",
            fix="write @tool_permission(ToolPermission.READ), or WRITE, or CONNECT, or several of them",
        )
    chosen = frozenset(Permission(permission) for permission in permissions)

    def mark(tool: Tool) -> Tool:
        # Said twice, it does both: the one above must not take back what the one below says.
        setattr(tool, _MARK, chosen | (marked_permissions(tool) or frozenset()))
        return tool

    return mark


def marked_permissions(tool: object) -> frozenset[Permission] | None:
    """What was said of this function, if anything was."""
    found = getattr(tool, _MARK, None)
    return found if isinstance(found, frozenset) else None  # pyright: ignore[reportUnknownVariableType]


def read_permissions(meta: Any) -> frozenset[Permission] | None:
    """What a tool's `_meta` says. None where that is nothing, or cannot be read."""
    words = meta.get(PERMISSIONS_KEY) if isinstance(meta, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not is_array(words) or not words:
        return None
    known = {permission.value: permission for permission in Permission}
    if not all(isinstance(word, str) and word in known for word in words):
        return None
    return frozenset(known[word] for word in words)


def in_words(permissions: Iterable[Permission]) -> list[str]:
    return sorted(permission.value for permission in permissions)


def _shown(permissions: tuple[Any, ...]) -> str:
    return ", ".join(getattr(each, "__name__", None) or repr(each) for each in permissions)[:80] or "nothing"
