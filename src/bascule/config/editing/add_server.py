"""Insertion of a server into a config file, and of its credentials into the `.env` file beside it. All other characters
stay as they are, or nothing is written; the quoting of `.env` matches the reader in `config/variables.py`."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bascule.config.editing.atomic_write import replace_file
from bascule.config.editing.errors import Unsafe
from bascule.config.editing.insert_json import json_with
from bascule.config.editing.insert_yaml import written, yaml_with
from bascule.config.loading.client_formats import OURS
from bascule.config.loading.document import document_of, is_json, read_text
from bascule.config.loading.entries import SHAPES, Shape, shape_of
from bascule.config.loading.load import load_text
from bascule.config.variables import read_dotenv
from bascule.core.errors import ConfigError, UsageError
from bascule.core.json_types import JsonObject, as_object, is_array, is_object

_VARIABLE = re.compile(r"\$\$|\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}")
_CORRECT = "write what is listed in another way, and add it again"
_OWN_KEYS = ("inherit_env", "sandbox")
"""Keys of ours that other programs' entries do not have."""

_NOWHERE = Path("entry.yaml")
"""What an entry is read from that is in no file yet."""

_EDITORS = "servers"
"""Where VS Code keeps servers. It knows variables as `${env:NAME}`."""


@dataclass(frozen=True, slots=True)
class Addition:
    """A file as it would be with the server in it."""

    path: Path
    before: str | None
    """Its text as it is. None: there is no such file yet."""
    after: str
    shown: str
    """What is new in it."""
    replaced: bool
    mode: int = 0o666
    """Who may read it, where it is made."""

    def write(self) -> None:
        """In one step: whoever reads it meanwhile finds the old or the new one. Raises `ConfigError`."""
        path = Path(os.path.realpath(self.path))
        try:
            if (read_text(path) if path.exists() else None) != self.before:
                raise ConfigError(f"{path} was changed meanwhile", where=str(path), fix="try again")
            replace_file(path, self.after, self.mode)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            fix = f"check who may write to {path.parent}"
            raise ConfigError(f"{path} cannot be written: {reason}", where=str(path), fix=fix) from error


def addition(path: Path, name: str, entry: JsonObject, *, replace: bool = False) -> Addition:
    """The file with the server in it, read as it will be read: the server must be usable, and nothing else changed.
    Raises `UsageError` where there is one of this name already, and `ConfigError`."""
    before = read_text(path) if path.exists() else None
    after, shown, there = _added(path, _with_plain_ends(before), name, entry, replace=replace)
    return Addition(path, before, _with_ends_of(before, after), shown, there)


def additions(path: Path, entries: Mapping[str, JsonObject]) -> Addition:
    """The same for several servers at once, none of which is there."""
    before = read_text(path) if path.exists() else None
    text, shown = _with_plain_ends(before), ""
    for name, entry in entries.items():
        text, lines, _ = _added(path, text, name, entry, replace=False)
        shown += lines
    return Addition(path, before, _with_ends_of(before, text), shown, replaced=False)


def _with_plain_ends(before: str | None) -> str:
    return (before or "").replace("\r\n", "\n")


def _with_ends_of(before: str | None, text: str) -> str:
    return text.replace("\n", "\r\n") if before is not None and "\r\n" in before else text


def _added(path: Path, text: str, name: str, entry: JsonObject, *, replace: bool) -> tuple[str, str, bool]:
    """The text with the server in it, what is new in that, and whether there was one of this name."""
    root, in_json = _root(path, text), is_json(path, text)
    shape = _shape(path, root, in_json=in_json)
    there = _is_there(path, text, root, name)
    if there and not replace:
        raise UsageError(
            f"{path} has a server called {name} already", fix="choose another name, or replace it with --replace"
        )
    kept = _foreign(entry, editors=shape.key == _EDITORS) if shape.foreign else entry
    try:
        if in_json:
            after = json_with(text or "{}\n", shape.key, name, kept, replace=there)
        else:
            after = yaml_with(text, name, kept, replace=there)
    except Unsafe as why:
        raise _by_hand(path, str(why), name, entry) from None
    if _others(root, shape, name) != _others(_root(path, after), shape, name):
        raise _by_hand(path, "it would say something else than before", name, entry)
    _check(path, after, name, entry)
    return after, written(name, kept, ""), there


def variables_in(value: Any) -> dict[str, bool]:
    """The variables that an entry names, and whether each has to be set."""
    if isinstance(value, str):
        return {found[1]: found[2] is None for found in _VARIABLE.finditer(value) if found[1]}
    inner = [*value.values()] if is_object(value) else value if is_array(value) else []
    found: dict[str, bool] = {}
    for each in inner:
        for name, needed in variables_in(each).items():
            found[name] = needed or found.get(name, False)
    return found


def servers_in(path: Path) -> JsonObject:
    """The servers of a config of ours as they are written there. Raises `ConfigError` where it is another's."""
    root = _root(path, read_text(path)) if path.exists() else {}
    shape = shape_of(root)
    if is_json(path, "") or (shape is not None and shape.foreign):
        fix = "name a bascule.yaml with --config, or leave it out"
        raise ConfigError(f"{path} is a file of another program, which stays as it is", where=str(path), fix=fix)
    return as_object(root.get(SHAPES[0].key or ""))


def why_unusable(name: str, entry: JsonObject) -> str:
    """What would be wrong with a server, were it in a config. Nothing, where it could be used."""
    try:
        _check(_NOWHERE, yaml_with("", name, entry), name, entry)
    except ConfigError as error:
        return "; ".join(told.partition(f" mcp_servers.{name}")[2].lstrip(".: ") for told in error.problems)
    return ""


def _root(path: Path, text: str) -> JsonObject:
    document = document_of(path, text) if text.strip() else None
    if document is None or document.root is None:
        return {}
    document.problems.raise_if_any()
    if not is_object(document.root):
        raise ConfigError(f"{path} must hold a mapping", where=str(path), fix="name another file with --config")
    return document.root


def _shape(path: Path, root: JsonObject, *, in_json: bool) -> Shape:
    """Where the file keeps its servers, or would keep its first."""
    ours, foreign, editors = SHAPES
    if not in_json:
        found = shape_of(root) or ours
        if found.foreign:
            raise ConfigError(
                f"{path} is YAML, and keeps servers as another program's file does",
                where=str(path),
                fix="name a file of ours, or a JSON file, with --config",
            )
        return ours
    return shape_of(root) or (editors if path.parent.name == ".vscode" else foreign)


def _is_there(path: Path, text: str, root: JsonObject, name: str) -> bool:
    shape = shape_of(root)
    if shape is None or (shape.key is not None and not root.get(shape.key)):
        return False
    config = load_text(path, text, {})
    return name in config.servers or name in config.kit_servers


def _others(root: JsonObject, shape: Shape, name: str) -> JsonObject:
    """All that a file says beside the one server."""
    if shape.key is None:
        return {key: value for key, value in root.items() if key != name}
    servers = as_object(root.get(shape.key))
    return {**root, shape.key: {key: value for key, value in servers.items() if key != name}}


def _foreign(entry: JsonObject, *, editors: bool) -> JsonObject:
    """The entry as other programs read it, ours apart from theirs."""
    own = {key: entry[key] for key in _OWN_KEYS if key in entry}
    rest = {key: value for key, value in entry.items() if key not in own}
    way = rest.pop("transport", "http" if "url" in rest else None)
    told: JsonObject = {**({"type": way} if way else {}), **rest, **({OURS: own} if own else {})}
    return _for_editors(told) if editors else told


def _for_editors(value: Any) -> Any:
    """Variables as VS Code names them. It knows no defaults, so these are written out."""
    if isinstance(value, str):
        return _VARIABLE.sub(_editors_reference, value)
    if is_object(value):
        return {key: _for_editors(each) for key, each in value.items()}
    return [_for_editors(each) for each in value] if is_array(value) else value


def _editors_reference(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0]
    return f"${{env:{found[1]}}}" if found[2] is None else found[2].removeprefix(":-")


def _check(path: Path, after: str, name: str, entry: JsonObject) -> None:
    """Raises why the server could not be used as it would stand there."""
    try:
        config = load_text(path, after, _stand_ins(entry))
    except ConfigError as error:
        raise ConfigError(f"{name} cannot be added", problems=error.problems, where=str(path), fix=_CORRECT) from None
    reason = config.servers[name].unavailable_reason
    if reason is not None:
        problems = reason.problems or (reason.message,)
        raise ConfigError(f"{name} cannot be added", problems=problems, where=str(path), fix=_CORRECT)


def _stand_ins(entry: JsonObject) -> Mapping[str, str]:
    """A value for every variable, so that what is written can be looked at before they are set."""
    stand_ins = dict.fromkeys(variables_in(entry), "x")
    if str(entry.get("url", "")).startswith("${"):
        stand_ins |= dict.fromkeys([*variables_in(entry["url"])][:1], "https://x.test")
    return stand_ins


def _by_hand(path: Path, why: str, name: str, entry: JsonObject) -> ConfigError:
    return ConfigError(
        f"{path} cannot be changed safely: {why.splitlines()[0]}",
        where=str(path),
        fix="add it by hand:\n" + written(name, entry, ""),
    )


def dotenv_with(path: Path, values: Mapping[str, str]) -> Addition:
    before = read_text(path) if path.exists() else None
    there, _ = read_dotenv(path)
    lines = "".join(f"{name}={quoted(value)}\n" for name, value in values.items() if name not in there)
    start = before or ""
    start += "\n" if start and not start.endswith("\n") else ""
    return Addition(path, before, start + lines, "", replaced=False, mode=0o600)


def quoted(value: str) -> str:
    """As it is read again: in single quotes nothing is an escape."""
    if "'" not in value and "\n" not in value and "\r" not in value:
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
