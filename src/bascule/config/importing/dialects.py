"""Config dialects of other MCP clients, normalised to one common form. Keys without an equivalent here are listed."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bascule.config.loading.client_formats import OURS
from bascule.config.variables import read_dotenv
from bascule.core.json_types import JsonObject, as_array, as_object, as_text, is_array, is_object

_APPROVALS = ("autoApprove", "alwaysAllow", "trust")
_APPROVED_HERE = "here `permissions` and `ask` decide which calls wait for a person"

_SILENT = {"source", "gallery", "version", "registryBaseUrl", "isConfigured", "dev", "description", "icon", "extension"}
"""Keys that say nothing about how a server is used, or only something to their own program."""

_BOXED = ("sandbox", "sandboxEnabled")

_SECONDS = {"cline", "roo"}
"""Programs whose timeouts are seconds. Elsewhere they are milliseconds."""

_SHORTEST = 1000
"""Milliseconds below which Claude Code takes no notice of a timeout."""

_CODEX_SAME = {"http_headers": "headers", "enabled_tools": "includeTools", "disabled_tools": "excludeTools"}

_BARE_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_BRACED = re.compile(r"\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(:-.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Scene:
    """Where an entry stands: whose file it is in, and what its variables may mean."""

    program: str
    folder: Path
    """The folder that an editor would have open."""
    home: Path
    inputs: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """What an editor asks its user for, by its id."""


@dataclass(slots=True)
class Common:
    """An entry as all programs would write it."""

    raw: JsonObject
    notes: list[str] = field(default_factory=list[str])
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    """Keys that are not taken over, and why."""
    described: dict[str, str] = field(default_factory=dict[str, str])
    """What a person is told of a variable."""

    def leave(self, key: str, why: str) -> None:
        if self.raw.pop(key, None) not in (None, False, [], {}):
            self.left_out[key] = why


def common(raw: JsonObject, scene: Scene) -> Common:
    """The entry without what is only this program's. What is wrong with it stays so, for whoever reads it next."""
    told = Common(dict(raw))
    _OWN_WAYS.get(scene.program, _nothing)(told, scene)
    _take_timeout(told, scene)
    _take_tools(told)
    _take_login(told)
    _take_env_file(told, scene)
    for key in _APPROVALS:
        told.leave(key, _APPROVED_HERE)
    for key in _BOXED:
        told.leave(key, "here every server that is a process has a box of its own: `sandbox`")
    told.leave("headersHelper", "it is a line for a shell; `headers_command` takes a program and its arguments")
    for key in _SILENT:
        told.raw.pop(key, None)
    told.raw = {key: _filled(value, told, scene) for key, value in told.raw.items()}
    return told


def _nothing(_told: Common, _scene: Scene) -> None:
    pass


def _of_zed(told: Common, _scene: Scene) -> None:
    if is_object(command := told.raw.get("command")):
        told.raw |= {"args": command.get("args"), "env": command.get("env"), "command": command.get("path")}
    told.leave("timeout", "how long a unit it counts is not told")
    told.leave("settings", "they are for Zed's extension of this name")


def _of_codex(told: Common, _scene: Scene) -> None:
    raw = told.raw
    for theirs, common_name in _CODEX_SAME.items():
        if theirs in raw:
            raw[common_name] = raw.pop(theirs)
    headers = {name: f"${{{variable}}}" for name, variable in as_object(raw.pop("env_http_headers", None)).items()}
    if variable := as_text(raw.pop("bearer_token_env_var", None)):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    if headers:
        raw["headers"] = {**as_object(raw.get("headers")), **headers}
    passed = [name for name in as_array(raw.pop("env_vars", None)) if isinstance(name, str)]
    if passed:
        raw["env"] = {**{name: f"${{{name}}}" for name in passed}, **as_object(raw.get("env"))}
    timeouts = {
        ours: raw.pop(theirs)
        for theirs, ours in (("startup_timeout_sec", "connect"), ("tool_timeout_sec", "call"))
        if theirs in raw
    }
    if timeouts:
        _add_ours(raw, {"timeouts": timeouts})


def _of_gemini(told: Common, _scene: Scene) -> None:
    told.raw = {key: _braced(value) for key, value in told.raw.items()}


def _of_copilot(told: Common, _scene: Scene) -> None:
    if told.raw.get("type") == "local":
        told.raw["type"] = "stdio"
    tools = told.raw.pop("tools", None)
    if is_array(tools) and "*" not in tools:
        told.raw["includeTools"] = tools


_OWN_WAYS: dict[str, Callable[[Common, Scene], None]] = {
    "zed": _of_zed,
    "codex": _of_codex,
    "gemini": _of_gemini,
    "copilot": _of_copilot,
}


def _take_timeout(told: Common, scene: Scene) -> None:
    value = told.raw.get("timeout")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    if scene.program in _SECONDS:
        told.raw["timeout"] = value * 1000
    elif scene.program == "claude-code" and value < _SHORTEST:
        told.leave("timeout", f"Claude Code takes no notice of less than {_SHORTEST} milliseconds")


def _take_tools(told: Common) -> None:
    blocked = told.raw.pop("disabledTools", None)
    if blocked and "excludeTools" not in told.raw:
        told.raw["excludeTools"] = blocked


def _take_login(told: Common) -> None:
    """What a program says of logging in, in one of two ways."""
    given = as_object(told.raw.pop("oauth", None))
    login = {
        ours: given[theirs] for theirs, ours in (("clientId", "client_id"), ("scopes", "scopes")) if given.get(theirs)
    }
    other = as_object(told.raw.pop("auth", None))
    login |= {
        ours: other[theirs] for theirs, ours in (("CLIENT_ID", "client_id"), ("scopes", "scopes")) if other.get(theirs)
    }
    secret = given.get("clientSecret") or other.get("CLIENT_SECRET")
    if secret:
        login["client_secret"] = secret
    if login:
        _add_ours(told.raw, {"oauth": login})
    rest = {*given} - {"clientId", "scopes", "clientSecret", "enabled"}
    if rest:
        told.left_out["oauth"] = f"{', '.join(sorted(rest))} in it; `bascule login` finds such things out by itself"


def _take_env_file(told: Common, scene: Scene) -> None:
    """The names in it become references. Its values stay where they are."""
    named = as_text(told.raw.pop("envFile", None))
    if not named:
        return
    path = scene.folder / Path(as_text(_filled(named, told, scene)) or "").expanduser()
    values, notes = read_dotenv(path)
    if not values:
        told.left_out["envFile"] = notes[0] if notes else f"there is nothing in {path}"
        return
    env = as_object(told.raw.get("env"))
    told.raw["env"] = {**{name: f"${{{name}}}" for name in values if name not in env}, **env}
    told.notes.append(f"the variables of its envFile are references now; their values are in {path}")


def _add_ours(raw: JsonObject, keys: JsonObject) -> None:
    raw[OURS] = {**as_object(raw.get(OURS)), **keys}


def _braced(value: Any) -> Any:
    """Gemini takes `$NAME` for `${NAME}`."""
    if isinstance(value, str):
        return _BARE_VARIABLE.sub(r"${\1}", value)
    if is_object(value):
        return {key: _braced(each) for key, each in value.items()}
    return [_braced(each) for each in value] if is_array(value) else value


def _filled(value: Any, told: Common, scene: Scene) -> Any:
    """Texts with what an editor would put in, and with every other dollar sign meaning itself."""
    if is_object(value):
        return {key: _filled(each, told, scene) for key, each in value.items()}
    if is_array(value):
        return [_filled(each, told, scene) for each in value]
    if not isinstance(value, str):
        return value
    return _BRACED.sub(lambda found: _reference(found[1], told, scene), value.replace("$$", "$$$$"))


def _reference(body: str, told: Common, scene: Scene) -> str:
    known = {
        "workspaceFolder": str(scene.folder),
        "workspaceFolderBasename": scene.folder.name,
        "workspaceRoot": str(scene.folder),
        "cwd": str(scene.folder),
        "userHome": str(scene.home),
        "pathSeparator": "/",
        "/": "/",
    }
    if body in known:
        return known[body].replace("$", "$$")
    kind, colon, rest = body.partition(":")
    if colon and kind == "input":
        return _asked(rest, told, scene)
    if colon and kind == "env" and _NAME.fullmatch(rest):
        return f"${{{rest}}}"
    # What else there is (`${command:…}`, `${file:…}`) stays, and whoever reads the entry says that it cannot be filled.
    return f"${{{body}}}"


def _asked(identity: str, told: Common, scene: Scene) -> str:
    """A variable in the place of what an editor asks for."""
    asked = scene.inputs.get(identity, {})
    name = re.sub(r"[^A-Za-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", identity)).strip("_").upper()
    name = name if name and not name[0].isdigit() else f"INPUT_{name}"
    told.described[name] = as_text(asked.get("description")) or ""
    default = as_text(asked.get("default"))
    if default and "}" not in default and "${" not in default and not asked.get("password"):
        return f"${{{name}:-{default}}}"
    return f"${{{name}}}"
