"""`${VAR}` in the texts of a file: put in once, from the environment, and told by name where one is not set.

The forms are `${VAR}`, `${VAR:-default}` (also when VAR is empty) and `${env:VAR}`; `$$` stands for one dollar sign.
What is put in is never looked at again, so a variable's value cannot name another variable.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, final

from bascule.config.problems import KeyPath
from bascule.core.json_types import is_array, is_object

_REFERENCE = re.compile(r"\$(?:\$|\{(?P<body>[^}]*)(?P<end>\}?))")
_BODY = re.compile(r"(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?", re.DOTALL)


class FromVariable(str):
    """A text with variables in it that were filled, and what they are called."""

    __slots__ = ("names",)
    names: tuple[str, ...]

    def __new__(cls, text: str, names: tuple[str, ...]) -> Self:
        marked = super().__new__(cls, text)
        marked.names = names
        return marked


@final
class Hole:
    """Stands where a text could not be completed. Its server is refused, so nothing reads further into it."""


HOLE: Final = Hole()


@dataclass(frozen=True, slots=True)
class Missing:
    """A reference that could not be filled."""

    path: KeyPath
    told: str
    """What is missing. It names a variable, but never repeats what could be the text of a secret with a ${ in it."""
    fix: str


@dataclass(frozen=True, slots=True)
class Filled:
    """A text after one pass, and what was met on the way."""

    text: str
    names: tuple[str, ...]
    missing: tuple[Missing, ...]


def fill_text(text: str, environ: Mapping[str, str], path: KeyPath = ()) -> Filled:
    names: list[str] = []
    missing: list[Missing] = []

    def put_in(found: re.Match[str]) -> str:
        if found["body"] is None:
            return "$"
        value = _value(found, environ, names)
        if isinstance(value, str):
            return value
        missing.append(Missing(path, *value))
        return ""

    return Filled(_REFERENCE.sub(put_in, text), tuple(names), tuple(missing))


def fill(value: Any, environ: Mapping[str, str], path: KeyPath, missing: list[Missing]) -> Any:
    """The same value with every text in it filled, at any depth, but no key. What is unset goes to `missing`."""
    if isinstance(value, str):
        return _fill_leaf(value, environ, path, missing)
    if is_array(value):
        return [fill(item, environ, (*path, index), missing) for index, item in enumerate(value)]
    if is_object(value):
        return {key: fill(item, environ, (*path, key), missing) for key, item in value.items()}
    return value


def _fill_leaf(text: str, environ: Mapping[str, str], path: KeyPath, missing: list[Missing]) -> Any:
    filled = fill_text(text, environ, path)
    missing.extend(filled.missing)
    if filled.missing:
        return HOLE
    return FromVariable(filled.text, filled.names) if filled.names else filled.text


def _value(found: re.Match[str], environ: Mapping[str, str], names: list[str]) -> str | tuple[str, str]:
    """What to put in; or why that cannot be had, and what to do."""
    body: str = found["body"]
    reference = _BODY.fullmatch(body)
    if body.startswith("input:"):
        return f"the variable {body[:80]} is asked for by editors only, so it is not set", "write ${VAR}, and set VAR"
    if reference is None or not found["end"] or "${" in body:
        return "holds a ${…} that names no variable", "write ${VAR} or ${VAR:-default}, or $${ for the text ${ itself"
    name, default = reference["name"], reference["default"]
    value = environ.get(name)
    if value is None or (value == "" and default is not None):
        value = default
    if value is None:
        fix = f"set {name} in the environment or in .env beside the file, or write ${{{name}:-default}}"
        return f"the variable {name} is not set", fix
    names.append(name)
    return value
