"""Variables in config texts, from the environment and the `.env` file beside it: `${VAR}`, `${VAR:-default}` (also when
VAR is empty), `${env:VAR}`, and `$$` for a dollar sign. A substituted value is never expanded again, so it cannot name
another variable, and `.env` values do not reach the environment of child processes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, final

from bascule.config.problems import KeyPath
from bascule.core.json_types import is_array, is_object
from bascule.files.regular_file import read_regular

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


MAX_DOTENV = 256 * 1024
"""Largest `.env` read. A larger one is not a list of variables."""

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?P<value>.*)")
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)\s*(?:\#.*)?""")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def read_dotenv(path: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables, and a note for whatever could not be read; never what stands there. No file is no variables."""
    try:
        data = read_regular(path, MAX_DOTENV + 1)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        return {}, ()
    except OSError as error:
        return {}, (f"{path}: not read: {error.strerror}",)
    except UnicodeDecodeError:
        return {}, (f"{path}: not read: it is not UTF-8",)
    if len(data) > MAX_DOTENV:
        return {}, (f"{path}: not read: it is larger than {MAX_DOTENV} bytes",)
    return _parse(text, str(path))


def _parse(text: str, shown: str) -> tuple[dict[str, str], tuple[str, ...]]:
    values: dict[str, str] = {}
    notes: list[str] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if found := _LINE.fullmatch(line):
            values[found["name"]] = _dotenv_value(found["value"])
        else:
            notes.append(f"{shown}:{number}: ignored: not NAME=value")
    return values, tuple(notes)


def _dotenv_value(raw: str) -> str:
    quoted = _QUOTED.fullmatch(raw)
    if quoted is None:
        return re.split(r"(?:^|\s)#", raw, maxsplit=1)[0].strip()
    if quoted["quote"] == "'":
        return quoted["text"]
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), quoted["text"])
