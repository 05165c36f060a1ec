"""Parsers for config values, one per key type. A value that does not fit is reported, never shown."""

import re
from collections.abc import Callable
from math import isfinite
from typing import Any

from bascule.config.loading.key_table import Key, Kind
from bascule.config.loading.yaml_reader import plain_scalar
from bascule.config.problems import KeyPath
from bascule.config.validation import choice_flaws
from bascule.config.variables import FromVariable, Hole
from bascule.core.json_types import is_array, is_object

Report = Callable[[KeyPath, str], None]
"""Takes where inside the value, and what is wrong there."""

_SIZE = re.compile(r"(?P<count>[0-9]{1,15})\s*(?P<unit>B|KiB|MiB|GiB)?")
_UNITS = {None: 1, "B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def read_value(key: Key, value: Any, report: Report) -> Any:
    """The value in its final type. Holes, nulls and what does not fit become the key's default."""
    if value is None or isinstance(value, Hole):
        return key.default
    if key.kind in _SCALARS and isinstance(value, FromVariable):
        value = plain_scalar(str(value))
    read = _READERS[key.kind](key, value, report)
    return key.default if read is None else read


def _text(key: Key, value: Any, report: Report) -> str | None:
    if isinstance(value, str):
        # Arguments keep the mark of their variables a little longer: by it a credential is known.
        return value if key.name == "args" else str(value)
    report((), f"must be text, not {_described(value)}{_text_hint(key, value)}")
    return None


def _texts(key: Key, value: Any, report: Report) -> tuple[str, ...] | None:
    if not is_array(value):
        report((), f"must be {Kind.TEXTS}, not {_described(value)}; write it between [ and ]")
        return None
    # What cannot be read leaves an empty text behind, so that the others keep their numbers.
    given = ["" if isinstance(item, Hole) else item for item in value]
    return tuple(_text(key, item, _inside(report, index)) or "" for index, item in enumerate(given))


def _text_map(key: Key, value: Any, report: Report) -> dict[str, str] | None:
    if not is_object(value):
        report((), f"must be {Kind.TEXT_MAP}, not {_described(value)}")
        return None
    given = [(name, item) for name, item in value.items() if not isinstance(item, Hole)]
    read = {name: _text(key, item, _inside(report, name)) for name, item in given}
    return {name: item for name, item in read.items() if item is not None}


def _word_map(_key: Key, value: Any, report: Report) -> dict[str, Any] | None:
    if not is_object(value):
        report((), f"must be {Kind.WORD_MAP}, not {_described(value)}")
        return None
    return {name: item for name, item in value.items() if not isinstance(item, Hole)}


def _tables(_key: Key, value: Any, report: Report) -> tuple[Any, ...] | None:
    if not is_array(value):
        report((), f"must be {Kind.TABLES}, not {_described(value)}; write it between [ and ]")
        return None
    return tuple(value)


def _number_maps(_key: Key, value: Any, report: Report) -> dict[str, Any] | None:
    if not is_object(value) or not all(is_object(each) for each in value.values()):
        report((), f"must be {Kind.NUMBER_MAPS}")
        return None
    return {name: {key: _scalar(item) for key, item in each.items()} for name, each in value.items()}


def _scalar(value: Any) -> Any:
    return plain_scalar(str(value)) if isinstance(value, FromVariable) else value


def _flag(_key: Key, value: Any, report: Report) -> bool | None:
    return _fitting(value, isinstance(value, bool), Kind.FLAG, report)


def _seconds(_key: Key, value: Any, report: Report) -> float | None:
    return _fitting(value, _is_number(value) and isfinite(value) and value > 0, Kind.SECONDS, report)


def _count(_key: Key, value: Any, report: Report) -> int | None:
    return _fitting(value, _is_number(value) and isinstance(value, int) and value > 0, Kind.COUNT, report)


def _number(_key: Key, value: Any, report: Report) -> float | None:
    return _fitting(value, _is_number(value) and isfinite(value) and value > 0, Kind.NUMBER, report)


def _counts(key: Key, value: Any, report: Report) -> tuple[int, ...] | None:
    if not is_array(value):
        report((), f"must be {Kind.COUNTS}, not {_described(value)}; write it between [ and ]")
        return None
    read = [_count(key, _scalar(item), _inside(report, index)) for index, item in enumerate(value)]
    return tuple(item for item in read if item is not None)


def _mounts(_key: Key, value: Any, report: Report) -> Any:
    if isinstance(value, str):
        return str(value)
    if not is_array(value) or not all(is_object(each) for each in value):
        report((), f"must be {Kind.MOUNTS}, such as [{{path: /data, mode: ro}}]")
        return None
    return [{name: str(item) if isinstance(item, str) else item for name, item in each.items()} for each in value]


def _size(_key: Key, value: Any, report: Report) -> int | None:
    found = _SIZE.fullmatch(str(value).strip()) if isinstance(value, str) or _is_number(value) else None
    if found is None:
        report((), f"must be {Kind.SIZE}: a whole number, with B, KiB, MiB or GiB")
        return None
    return int(found["count"]) * _UNITS[found["unit"]]


def _choice(key: Key, value: Any, report: Report) -> str | None:
    for flaw in choice_flaws(key.name, value, key.choices):
        report((), flaw.text)
        return None
    return str(value)


_READERS: dict[Kind, Callable[[Key, Any, Report], Any]] = {
    Kind.TEXT: _text,
    Kind.TEXTS: _texts,
    Kind.TEXT_MAP: _text_map,
    Kind.WORD_MAP: _word_map,
    Kind.TABLES: _tables,
    Kind.NUMBER_MAPS: _number_maps,
    Kind.FLAG: _flag,
    Kind.SECONDS: _seconds,
    Kind.COUNT: _count,
    Kind.COUNTS: _counts,
    Kind.NUMBER: _number,
    Kind.MOUNTS: _mounts,
    Kind.SIZE: _size,
    Kind.CHOICE: _choice,
}

_SCALARS = {Kind.FLAG, Kind.SECONDS, Kind.COUNT, Kind.NUMBER}
"""Types that are not text. A variable can only hold text, so here it is read as if it stood in the file unquoted."""


_UNQUOTED = re.compile(r"[-+]?\d+(\.\d+)?|true|false", re.IGNORECASE)


def _quoted(value: Any) -> bool:
    """Whether it would be something else than text without its quotes."""
    return isinstance(value, str) and _UNQUOTED.fullmatch(value.strip()) is not None


def _fitting(value: Any, fits: Any, wanted: str, report: Report) -> Any:
    if fits:
        return value
    report((), f"must be {wanted}" + ("; take the quotes away" if _quoted(value) else ""))
    return None


def _inside(report: Report, part: str | int) -> Report:
    return lambda path, text: report((part, *path), text)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _described(value: Any) -> str:
    if is_array(value):
        return "a list"
    if is_object(value):
        return "a mapping"
    if _is_number(value):
        return "a number"
    return {None: "nothing", True: "true", False: "false"}.get(value, "text")


def _text_hint(key: Key, value: Any) -> str:
    if value is None or isinstance(value, bool | int | float):
        return "; put it in quotes"
    return "; give the program alone, and the rest in `args`" if key.name == "command" else ""
