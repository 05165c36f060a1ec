"""YAML reader: plain values with their line numbers, from a small, safe subset (no tags, one document, bounded
aliases)."""

import re
from collections.abc import Iterator
from typing import Any

from bascule.config.problems import KeyPath, Problems

MAX_DEPTH = 40
"""Deepest nesting read. Configurations need eight."""

MAX_VALUES = 50_000
"""Most values a file may stand for once its aliases are written out. Ten lines of aliases to aliases are a billion."""

_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,18}|[0-9]{1,18}(?:\.[0-9]{0,18})?)(?:[eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

_SYNTAX_FIX = "check the indentation, and put texts that hold : # { [ or @ in quotes"


def parse_yaml(text: str, problems: Problems) -> Any:
    """The document's value; lines go into `problems.lines`, and doubled keys and the like are added as problems."""
    import yaml  # noqa: PLC0415 -- a tenth of a second, and many configurations are JSON

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Reader(_events(loader(text)), problems).document()
    except yaml.MarkedYAMLError as error:
        # Only what the parser expected: the lines it would show may hold secrets.
        line = error.problem_mark.line + 1 if error.problem_mark else None
        problems.unreadable(f"not YAML: {error.problem or 'malformed'}", line=line, fix=_SYNTAX_FIX)
    except yaml.YAMLError:
        problems.unreadable("not YAML: it holds characters that text does not have", fix="save the file as plain UTF-8")


def _events(loader: Any) -> Iterator[Any]:
    while loader.check_event():
        yield loader.get_event()


def plain_scalar(text: str) -> Any:
    """What an unquoted word means by YAML 1.2: `yes`, `on` and dates are texts, as they look."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


class _Reader:
    """Builds values from parser events, so that nothing is made that was not looked at."""

    def __init__(self, events: Iterator[Any], problems: Problems) -> None:
        self._events = events
        self._problems = problems
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = 0

    def document(self) -> Any:
        if self._skip_to_content() is None:
            return None
        value = self._value(next(self._events), ())
        next(self._events)
        following = next(self._events)
        if _kind(following) == "DocumentStart":
            line = _line(following)
            self._problems.unreadable("a second document begins here", line=line, fix="keep one document in the file")
        return value

    def _skip_to_content(self) -> Any:
        next(self._events)
        event = next(self._events)
        return event if _kind(event) == "DocumentStart" else None

    def _value(self, event: Any, path: KeyPath) -> Any:
        if len(path) > MAX_DEPTH:
            self._problems.unreadable(f"nests deeper than {MAX_DEPTH} levels", line=_line(event))
        self._problems.lines.setdefault(path, _line(event))
        if _kind(event) == "Alias":
            return self._alias(event)
        if event.tag is not None:
            self._problems.add(path, f"the tag {event.tag} is not read; remove it")
        before = self._count
        self._take(1, event)
        value = self._content(event, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._count - before)
        return value

    def _content(self, event: Any, path: KeyPath) -> Any:
        match _kind(event):
            case "Scalar":
                return plain_scalar(event.value) if event.implicit[0] and event.tag is None else event.value
            case "SequenceStart":
                return self._sequence(path)
            case _:
                return self._mapping(path)

    def _sequence(self, path: KeyPath) -> list[Any]:
        items: list[Any] = []
        while _kind(event := next(self._events)) != "SequenceEnd":
            items.append(self._value(event, (*path, len(items))))
        return items

    def _mapping(self, path: KeyPath) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        while _kind(event := next(self._events)) != "MappingEnd":
            key = self._key(event)
            self._problems.lines.setdefault((*path, key), _line(event))
            if key in pairs:
                self._double(event, (*path, key))
            pairs[key] = self._value(next(self._events), (*path, key))
        return pairs

    def _key(self, event: Any) -> str:
        if _kind(event) != "Scalar" or event.tag is not None:
            self._problems.unreadable("a key must be plain text", line=_line(event))
        if event.value == "<<" and event.implicit[0]:
            fix = "write the keys out, or give an alias as the whole value"
            self._problems.unreadable("merge keys (<<) are not read", line=_line(event), fix=fix)
        self._take(1, event)
        return event.value

    def _double(self, event: Any, path: KeyPath) -> None:
        first = self._problems.lines[path]
        self._problems.lines[path] = _line(event)
        self._problems.add(path, f"stands twice, first on line {first}; keep one of them")

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            self._problems.unreadable(f"no anchor &{event.anchor} stands before this alias", line=_line(event))
        value, size = self._anchors[event.anchor]
        self._take(size, event)
        return value

    def _take(self, count: int, event: Any) -> None:
        self._count += count
        if self._count > MAX_VALUES:
            text = f"stands for more than {MAX_VALUES} values once its aliases are written out"
            self._problems.unreadable(text, line=_line(event), fix="write fewer aliases")


def _kind(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")


def _line(event: Any) -> int:
    return event.start_mark.line + 1
