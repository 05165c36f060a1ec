"""Insertion of a server into JSON text. Every other character stays, comments and trailing commas included."""

import json
import re
from dataclasses import dataclass

from bascule.config.editing.errors import Unsafe
from bascule.config.loading.document import plain_json
from bascule.core.json_types import JsonObject

_SPACE = re.compile(r"\s*")
_INDENT = "  "

_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    """One member of an object, by where it stands in the text."""

    key: str
    start: int
    value: int
    end: int


def json_with(text: str, key: str | None, name: str, entry: JsonObject, *, replace: bool = False) -> str:
    """The text of a file whose servers stand under `key`, or at its root, with one more, or another, of this name."""
    plain = plain_json(text)
    root = _SPACE.match(plain)
    at = root.end() if root is not None else 0
    if plain[at : at + 1] != "{":
        raise Unsafe("it does not hold an object")
    if key is not None:
        found = [member for member in _members(plain, at) if member.key == key]
        if not found:
            return _put_in(text, plain, at, key, {name: entry})
        at = found[0].value
        if plain[at] != "{":
            raise Unsafe(f"its {key} is no object")
    old = [member for member in _members(plain, at) if member.key == name]
    if old and replace:
        written = _written(name, entry, _line_indent(text, old[0].start))
        return text[: old[0].start] + written + text[old[0].end :]
    return _put_in(text, plain, at, name, entry)


def _put_in(text: str, plain: str, at: int, name: str, value: JsonObject) -> str:
    """One more member, last, in the object that begins here."""
    members = _members(plain, at)
    if not members:
        outer = _line_indent(text, at)
        inner = outer + _INDENT
        end = plain.index("}", at)
        return f"{text[:at]}{{{_between(text, at + 1, end)}\n{inner}{_written(name, value, inner)}\n{outer}{text[end:]}"
    last = members[-1]
    if "\n" not in text[at : last.start]:
        return f"{text[: last.end]}, {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}{text[last.end :]}"
    indent = _line_indent(text, last.start)
    return f"{text[: last.end]},\n{indent}{_written(name, value, indent)}{text[last.end :]}"


def _between(text: str, start: int, end: int) -> str:
    """What stands in an empty object: nothing, or comments, which stay."""
    return text[start:end].rstrip()


def _written(name: str, value: JsonObject, indent: str) -> str:
    lines = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    return f"{json.dumps(name)}: " + f"\n{indent}".join(lines)


def _members(plain: str, at: int) -> list[_Member]:
    """The members of the object that begins here. The text is JSON: it was read as such before."""
    members: list[_Member] = []
    at = _after_space(plain, at + 1)
    while plain[at] == '"':
        key, end = _decoder.raw_decode(plain, at)
        value = _after_space(plain, _after_space(plain, end) + 1)
        _, value_end = _decoder.raw_decode(plain, value)
        members.append(_Member(key, at, value, value_end))
        at = _after_space(plain, value_end)
        at = _after_space(plain, at + 1) if plain[at] == "," else at
    return members


def _after_space(plain: str, at: int) -> int:
    found = _SPACE.match(plain, at)
    return found.end() if found is not None else at


def _line_indent(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip())]
