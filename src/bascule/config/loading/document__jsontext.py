"""JSON to plain values, with comments and trailing commas forgiven, as editors do, and doubled keys not."""

import json
import re
from typing import Any, NoReturn

from bascule.config.problems import KeyPath, Problems
from bascule.core.json_types import is_array

MAX_DEPTH = 100
"""Deepest nesting read. Files of other programs hold much besides servers."""

_TEXT = r'"(?:[^"\\]|\\.?)*+(?:"|\Z)'
"""A string. An unfinished one takes all that is left: to try again from each quote in it would take for ever."""

_COMMENT = re.compile(_TEXT + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TRAILING = re.compile(_TEXT + r"|,(?=\s*[}\]])", re.DOTALL)


class _Pairs:
    """An object as it was written: every pair of it, also those with the same key."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def parse_json(text: str, problems: Problems) -> Any:
    """The value; doubled keys are added as problems."""
    try:
        value = json.loads(plain_json(text), object_pairs_hook=_Pairs, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problems.unreadable(f"not JSON: {error.msg} (column {error.colno})", line=error.lineno)
    except ValueError:
        problems.unreadable("not JSON: it holds a number that JSON does not have")
    except RecursionError:
        problems.unreadable(f"nests deeper than {MAX_DEPTH} levels")
    return _settle(value, (), problems)


def plain_json(text: str) -> str:
    """The same text without comments and trailing commas, every other character in its line and column."""
    return _TRAILING.sub(_blank, _COMMENT.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])


def _no_constant(word: str) -> NoReturn:
    raise ValueError(word)


def _settle(value: Any, path: KeyPath, problems: Problems) -> Any:
    if len(path) > MAX_DEPTH:
        problems.unreadable(f"nests deeper than {MAX_DEPTH} levels")
    if isinstance(value, _Pairs):
        return _object(value.pairs, path, problems)
    if is_array(value):
        return [_settle(item, (*path, index), problems) for index, item in enumerate(value)]
    if isinstance(value, str) and _is_broken(value):
        problems.add(path, "holds half of a character pair, which is no text")
    return value


def _object(pairs: list[tuple[str, Any]], path: KeyPath, problems: Problems) -> dict[str, Any]:
    settled: dict[str, Any] = {}
    for key, value in pairs:
        if key in settled:
            problems.add((*path, key), "stands twice; keep one of them")
        settled[key] = _settle(value, (*path, key), problems)
    return settled


def _is_broken(text: str) -> bool:
    return re.search("[\ud800-\udfff]", text) is not None
