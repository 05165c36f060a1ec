"""Python identifiers for the names of others: `class`, `1st` or `a-b` as a field, a tool's name as a class."""

import keyword
import re
import unicodedata
from collections.abc import Iterable

RESERVED = frozenset(keyword.kwlist) | {
    *("str", "int", "float", "bool", "list", "dict", "Any", "Literal", "Never", "Unset", "UNSET"),
    *("dataclasses", "typed_call", "AgentSession", "Outcome", "ToolFailure"),
}
"""What cannot be a name, and what types are written with: a field of such a name would stand before it."""

MAX_LENGTH = 80
"""Longest name, before it is told apart from others."""

_GOOD = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{MAX_LENGTH - 1}}}")
_OTHER = re.compile(r"[^A-Za-z0-9_]")
_BETWEEN = re.compile(r"[^A-Za-z0-9]+")
_COMBINING = re.compile(r"[\u0300-\u036f]")


def identifier(text: str, *, otherwise: str = "field") -> str:
    """The nearest name. Nothing but ASCII: two names that look the same must be the same. None is private."""
    if _GOOD.fullmatch(text) and text not in RESERVED:
        return text
    name = _OTHER.sub("_", _plain(text)).lstrip("_")[:MAX_LENGTH]
    if not name:
        return otherwise
    if name[0].isdigit():
        return f"{otherwise}_{name}"
    return f"{name}_" if name in RESERVED else name


def class_name(text: str) -> str:
    """`GithubCreateIssue` for `github_create_issue`."""
    words = [word for word in _BETWEEN.split(_plain(text)) if word]
    name = "".join(word[0].upper() + word[1:] for word in words)[:MAX_LENGTH]
    return name if name and not name[0].isdigit() else f"Tool{name}"


class Names:
    """Names that are taken. One that is wanted again gets a number behind it."""

    def __init__(self, taken: Iterable[str] = (), between: str = "_") -> None:
        self._taken = set(taken)
        self._between = between
        self._last: dict[str, int] = {}

    def take(self, name: str) -> str:
        found = name
        while found in self._taken:
            self._last[name] = self._last.get(name, 1) + 1
            found = f"{name}{self._between}{self._last[name]}"
        self._taken.add(found)
        return found


def field_names(keys: Iterable[str], roots: tuple[str, ...] = (), *, otherwise: str = "field") -> dict[str, str]:
    """A field for each key, whatever order they come in. A key that is a good name keeps it.

    No field begins like one of the roots, as the classes do that fields are of.
    """
    wanted = {key: _apart_from(roots, identifier(key, otherwise=otherwise)) for key in sorted(keys)}
    names = Names(key for key, name in wanted.items() if key == name)
    return {key: name if key == name else names.take(name) for key, name in wanted.items()}


def _apart_from(roots: tuple[str, ...], name: str) -> str:
    return f"field_{name}" if name.startswith(roots) else name


def _plain(text: str) -> str:
    """Without accents, and cut: a name may be as long as a schema."""
    return _COMBINING.sub("", unicodedata.normalize("NFKD", text[: 2 * MAX_LENGTH]))
