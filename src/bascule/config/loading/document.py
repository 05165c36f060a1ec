"""A configuration file read into plain values, whichever of its formats it is written in."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bascule.config.loading.document__jsontext import parse_json
from bascule.config.loading.yaml_reader import parse_yaml
from bascule.config.problems import Problems
from bascule.core.errors import ConfigError

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
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except FileNotFoundError:
        raise ConfigError(
            f"{path} does not exist",
            where=str(path),
            fix="name an existing file with --config, or write one with servers under `mcp_servers:`",
        ) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"{path} cannot be read: {reason}", where=str(path), fix=_access_fix(path)) from error
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


def _access_fix(path: Path) -> str:
    return "name a file, not a folder" if path.is_dir() else f"check who may read it: ls -l {path}"
