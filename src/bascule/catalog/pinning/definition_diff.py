"""Diff of two definitions of a tool, for review by a person: bounded in size, with hidden characters escaped."""

import difflib
import re
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from bascule.catalog.screening.confusables import folded
from bascule.core.json_types import JsonObject, as_array, as_object, is_array, is_object
from bascule.core.text.invisible_chars import escaped_json

MAX_LINES = 400
"""Lines told of one tool. What is beyond is counted: a change must not hide behind others."""

MAX_TEXT_LINES = 60
"""Lines told of one text."""

MAX_PIECES = 2000
"""Pieces of a text that are compared with each other; longer texts are told by where they begin to differ. Comparing
takes the square of this."""

_SHORT = 80
"""Characters of a value that is told on one line."""

_WIDTH = 160

KNOWN = (
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "execution",
    "icons",
    "_meta",
)
"""The protocol's own words for the parts of a definition."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PIECE = re.compile(rf".{{1,{_WIDTH}}}?(?:(?<=[.!?:;]) {{1,8}}|\Z)|.{{1,{_WIDTH}}}", re.DOTALL)

_GONE = object()
"""Stands for what is not there. JSON's null would be a value."""

_encode = msgspec.json.Encoder(order="deterministic").encode


def changed_fields(before: JsonObject, after: JsonObject) -> tuple[str, ...]:
    """Top-level fields that differ. What the protocol does not know is only counted: a model may read this, and a name
    is text too."""
    differing = [name for name in {**before, **after} if _differs(before.get(name, _GONE), after.get(name, _GONE))]
    others = sum(name not in KNOWN for name in differing)
    told = [name for name in KNOWN if name in differing]
    return (*told, *([f"{others} other field{'s' if others > 1 else ''}"] if others else []))


def definition_diff(before: JsonObject | None, after: JsonObject | None) -> tuple[str, ...]:
    """Line by line. Without `before` it is the whole new definition, without `after` nothing but that it is gone."""
    if after is None:
        return ()
    lines = list(_walk("", _GONE if before is None else before, after))
    if len(lines) <= MAX_LINES:
        return tuple(lines)
    return (*lines[:MAX_LINES], f"… and {len(lines) - MAX_LINES:,} more lines of differences that are not shown")


def _differs(before: Any, after: Any) -> bool:
    if before is _GONE or after is _GONE:
        return before is not after
    # True is 1 to Python, and another value in JSON.
    return _encode(before) != _encode(after)


def _walk(path: str, before: Any, after: Any) -> Iterator[str]:
    if not _differs(before, after):
        return
    if _both(is_object, before, after):
        old, new = as_object(before), as_object(after)
        for name in sorted({**old, **new}, key=_rank):
            yield from _walk(_below(path, name), old.get(name, _GONE), new.get(name, _GONE))
    elif _both(is_array, before, after) and not (_is_short(before) and _is_short(after)):
        for index, (old, new) in enumerate(zip_longest(as_array(before), as_array(after), fillvalue=_GONE)):
            yield from _walk(f"{path}[{index}]", old, new)
    else:
        yield from _told(path, before, after)


def _both(kind: Callable[[Any], bool], before: Any, after: Any) -> bool:
    """Whether both are of a kind that has parts, one of them perhaps gone. There is a part to tell of then."""
    return all(value is _GONE or kind(value) for value in (before, after)) and any(
        value is not _GONE and value for value in (before, after)
    )


def _is_short(value: Any) -> bool:
    return len(_value(value)) <= _SHORT


def _rank(name: str) -> tuple[int, str]:
    return (KNOWN.index(name) if name in KNOWN else len(KNOWN)), name


def _below(path: str, name: str) -> str:
    shown = name if re.fullmatch(r"[\w$-]+", name, re.ASCII) else f'"{_shown(name[:_WIDTH], ascii_only=True)}"'
    return f"{path}.{shown}" if path else shown


def _told(path: str, before: Any, after: Any) -> Iterator[str]:
    mark = "+" if before is _GONE else "-" if after is _GONE else "~"
    if _is_short(before) and _is_short(after):
        alike = mark == "~" and folded(_value(before)) == folded(_value(after))
        old, new = (_plain(_value(value)) if alike else _value(value) for value in (before, after))
        yield f"{mark} {path}: {old}{' → ' if mark == '~' else ''}{new}"
        return
    yield f"{mark} {path}:"
    texts = all(value is _GONE or isinstance(value, str) for value in (before, after))
    old, new = (_value(value) if value is _GONE or not texts else value for value in (before, after))
    yield from _cut([f"    {line}" for line in _text_diff(old, new)])


def _text_diff(before: str, after: str) -> list[str]:
    old, new = _pieces(before, after), _pieces(after, before)
    if len(old) > MAX_PIECES or len(new) > MAX_PIECES:
        start = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
        told = f"{len(before):,} characters became {len(after):,}; they differ from here on:"
        return [told, *(f"- {line}" for line in old[start : start + 3]), *(f"+ {line}" for line in new[start:])]
    found = difflib.unified_diff(old, new, n=1, lineterm="")
    return [line[0] + " " + line[1:] for line in list(found)[2:] if not line.startswith("@@")]


def _cut(lines: list[str]) -> list[str]:
    more = len(lines) - MAX_TEXT_LINES
    return [*lines[:MAX_TEXT_LINES], f"    … and {more:,} more lines of this text"] if more > 0 else lines


def _pieces(text: str, other: str) -> list[str]:
    """Lines and sentences, so that one word more does not move all that follows. Together they are the whole text."""
    # Letters that only look alike would make two lines that seem the same.
    alike = folded(text) == folded(other)
    return [_shown(piece, ascii_only=alike) for line in _LINE.findall(text) for piece in _PIECE.findall(line)]


def _value(value: Any) -> str:
    return "" if value is _GONE else escaped_json(_encode(value).decode())


def _shown(text: str, *, ascii_only: bool = False) -> str:
    """With escapes for what hides or ends a line."""
    spaces = len(text) - len(text.rstrip(" "))
    shown = escaped_json(_encode(text).decode())[1:-1]
    if spaces > 1:
        shown = shown[:-spaces] + "\\u0020" * spaces
    return _plain(shown) if ascii_only else shown


def _plain(text: str) -> str:
    """With escapes for all that is beyond ASCII."""
    return text if text.isascii() else text.encode("ascii", "backslashreplace").decode()
