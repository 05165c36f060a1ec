"""Reader for another MCP client's config file: each server in Bascule's keys. An unreadable file is reported, never
guessed at."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bascule.config.importing.dialects import Common, Scene, common
from bascule.config.importing.programs import ForeignFile
from bascule.config.loading.client_formats import draft_foreign, is_disabled
from bascule.config.loading.document import document_of, read_text
from bascule.config.loading.entries import BARE, is_server, shape_of
from bascule.config.loading.key_table import SERVER_KEYS
from bascule.config.loading.server_draft import Draft
from bascule.config.problems import Problems
from bascule.core.errors import ConfigError
from bascule.core.json_types import JsonObject, as_array, as_object, as_text, is_object

_KEYS = {"vscode": "servers", "zed": "context_servers", "codex": "mcp_servers"}
"""Where a program keeps servers, if not under `mcpServers`."""

_DOCKERS = {"docker", "podman"}


@dataclass(frozen=True, slots=True)
class Find:
    """A server as another program has it, in our keys."""

    name: str
    theirs: str
    """What it is called there."""
    file: ForeignFile
    entry: JsonObject = field(default_factory=dict[str, Any])
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    described: Mapping[str, str] = field(default_factory=dict[str, str])
    disabled: bool = False
    refused: str = ""
    """Why it cannot be used here."""


@dataclass(frozen=True, slots=True)
class Borrowed:
    """What one file has."""

    file: ForeignFile
    finds: tuple[Find, ...] = ()
    problem: str = ""
    """Why it cannot be read."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Group:
    """Servers that stand together in a file."""

    servers: JsonObject
    off: frozenset[str] = frozenset()
    """Names that the file switches off elsewhere."""


def borrow(file: ForeignFile, here: Path, home: Path) -> Borrowed:
    try:
        root = _root(file.path)
        groups, notes = _groups(file, root, here)
    except ConfigError as error:
        return Borrowed(file, problem=_placeless(error, file.path))
    inputs = {str(each.get("id")): each for each in map(as_object, as_array(root.get("inputs")))}
    scene = Scene(file.program.name, here, home, inputs)
    finds = [_find(name, raw, group, file, scene) for group in groups for name, raw in group.servers.items()]
    return Borrowed(file, tuple(finds), notes=tuple(notes))


def _placeless(error: ConfigError, path: Path) -> str:
    """What is wrong with a file, without its name, which stands beside it."""
    told = error.problems[0] if error.problems else error.message
    for lead, instead in ((f"{path}: ", ""), (f"{path}:", "line "), (f"{path} ", "it ")):
        if told.startswith(lead):
            return instead + told.removeprefix(lead)
    return told


def _root(path: Path) -> JsonObject:
    text = read_text(path)
    if path.suffix.lower() == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{path}: not TOML: {error}", where=str(path)) from None
    if not text.strip():
        return {}
    document = document_of(path, text)
    document.problems.raise_if_any()
    if not is_object(document.root):
        raise ConfigError(f"{path}: it must hold a mapping", where=str(path))
    return document.root


def _groups(file: ForeignFile, root: JsonObject, here: Path) -> tuple[list[_Group], list[str]]:
    if file.program.name == "claude-code" and "projects" in root:
        return _of_projects(root, here)
    key = _KEYS.get(file.program.name, "mcpServers")
    if key not in root:
        return _by_shape(file, root), []
    servers = root[key]
    if not is_object(servers):
        raise ConfigError(f"{file.path}: {key} must be a mapping of names to servers", where=str(file.path))
    return [_Group(servers, _switched_off(root, servers))], []


def _by_shape(file: ForeignFile, root: JsonObject) -> list[_Group]:
    """Servers of a file that is not known by its name; none where there are none."""
    shape = shape_of(root)
    if shape is not None and not shape.foreign:
        raise ConfigError(f"{file.path}: it is a config of ours already; name it with --config", where=str(file.path))
    if shape is None or file.program.files:
        return []
    servers = {name: raw for name, raw in root.items() if is_server(raw)} if shape == BARE else root[str(shape.key)]
    return [_Group(as_object(servers))]


def _of_projects(root: JsonObject, here: Path) -> tuple[list[_Group], list[str]]:
    """Claude Code's own file: the user's servers, and those that are for one folder alone."""
    groups: list[_Group] = []
    others: list[str] = []
    for folder, project in as_object(root.get("projects")).items():
        servers = as_object(as_object(project).get("mcpServers"))
        if not servers:
            continue
        if here == Path(folder) or here.is_relative_to(folder):
            groups.append(_Group(servers, frozenset(map(str, as_array(as_object(project).get("disabledMcpServers"))))))
        else:
            others.append(f"{folder} ({', '.join(servers)})")
    groups.append(_Group(as_object(root.get("mcpServers"))))
    told = [f"it has servers for other folders too, where `bascule import` finds them: {'; '.join(others)}"]
    return groups, told if others else []


def _switched_off(root: JsonObject, servers: JsonObject) -> frozenset[str]:
    """Gemini lists servers that it is to use, or is not to use, beside them."""
    said = as_object(root.get("mcp"))
    off = {*map(str, as_array(said.get("excluded")))}
    allowed = as_array(said.get("allowed"))
    return frozenset(off | ({*servers} - {*allowed} if allowed else set()))


def _find(name: str, raw: Any, group: _Group, file: ForeignFile, scene: Scene) -> Find:
    problems = Problems("")
    told = common(raw, scene) if is_object(raw) else Common({})
    off = is_disabled(raw, (name,), problems) or name in group.off
    draft = draft_foreign(name, told.raw if is_object(raw) else raw, (name,), problems)
    wrong = [*(problem.told for problem in problems.found), *(draft.refusals if draft is not None else ())]
    if draft is None or wrong:
        folded = draft.name if draft is not None else name
        return Find(folded, name, file, refused=wrong[0].removeprefix(": ") if wrong else "it is no server")
    entry = _nested(draft)
    notes = [*told.notes, *_loosened(entry)]
    left_out = dict(told.left_out)
    for note in draft.notes:
        ignored, _, why = note.removeprefix("ignored ").partition(": ")
        if note.startswith("ignored "):
            left_out |= dict.fromkeys(ignored.split(", "), why)
        elif not note.startswith('"'):
            notes.append(note)
    return Find(draft.name, name, file, entry, tuple(notes), left_out, told.described, disabled=off)


def _nested(draft: Draft) -> JsonObject:
    """The entry as it is written: in the order of our keys, tables inside of it."""
    entry: JsonObject = {}
    for key in SERVER_KEYS:
        given = draft.entry.get(key)
        if given is None or given.value in (None, [], {}, ""):
            continue
        table, _, inner = key.partition(".")
        if inner:
            entry.setdefault(table, {})[inner] = _whole(given.value)
        else:
            entry[key] = given.value
    return entry


def _whole(value: Any) -> Any:
    """5.0 seconds as 5."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _loosened(entry: JsonObject) -> Iterator[str]:
    """Docker cannot be run in a box of ours."""
    command = as_text(entry.get("command")) or ""
    if Path(command).name in _DOCKERS:
        entry["sandbox"] = "none"
        yield f"{Path(command).name} cannot be run in a box of ours, so the server is loose (`sandbox: none`)"
