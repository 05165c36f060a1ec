"""Config file read into plain values, from YAML or from JSON with comments and trailing commas. A duplicate key is a
problem."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from bascule.config.loading.yaml_reader import parse_yaml
from bascule.config.problems import KeyPath, Problems
from bascule.core.errors import ConfigError
from bascule.core.json_types import is_array
from bascule.files.regular_file import fix_of, read_regular

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


MAX_FILE = 4 * 1024 * 1024
"""Largest file read, in bytes. Some programs keep their history in the same file as their servers."""

_JSON_SUFFIXES = {".json", ".jsonc", ".json5"}
_YAML_SUFFIXES = {".yaml", ".yml"}


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its values, and the problems met so far."""

    path: Path
    root: Any
    problems: Problems


def read_document(path: Path) -> Document:
    return document_of(path, read_text(path))


def document_of(path: Path, text: str) -> Document:
    """The same where the text is known."""
    problems = Problems(str(path))
    root = parse_json(text, problems) if is_json(path, text) else parse_yaml(text, problems)
    return Document(path, root, problems)


def is_json(path: Path, text: str) -> bool:
    suffix = path.suffix.lower()
    if suffix in _JSON_SUFFIXES | _YAML_SUFFIXES:
        return suffix in _JSON_SUFFIXES
    return text.lstrip().startswith(("{", "//", "/*"))


def read_text(path: Path) -> str:
    try:
        data = read_regular(path, MAX_FILE + 1)
    except FileNotFoundError:
        raise ConfigError(
            f"{path} does not exist",
            where=str(path),
            fix="name an existing file with --config, or write one with servers under `mcp_servers:`",
        ) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"{path} cannot be read: {reason}", where=str(path), fix=_access_fix(path, error)) from error
    if len(data) > MAX_FILE:
        raise ConfigError(
            f"{path} is larger than {MAX_FILE} bytes", where=str(path), fix="keep the servers in a file of their own"
        )
    return _decode(path, data)


def _decode(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: not UTF-8 text", where=f"{path}:{line}", fix="save the file in the encoding UTF-8"
        ) from None


def _access_fix(path: Path, error: OSError) -> str:
    return "name a file, not a folder" if path.is_dir() else fix_of(path, error, f"check who may read it: ls -l {path}")
