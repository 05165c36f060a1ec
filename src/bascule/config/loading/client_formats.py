"""Translation of an entry from another MCP client's file into Bascule's keys. Unknown keys become notes."""

from collections.abc import Iterator
from typing import Any

from bascule.config.loading.entries import Given, sort_keys
from bascule.config.loading.key_table import SERVER_KEYS, siblings
from bascule.config.loading.server_draft import Draft
from bascule.config.names import fold_name
from bascule.config.problems import KeyPath, Problems
from bascule.core.json_types import JsonObject, is_object

OURS = "x-bascule"
"""The key under which our own keys stand in a file of another program, which passes over it."""

_SAME = {
    "command": "command",
    "args": "args",
    "cwd": "cwd",
    "env": "env",
    "url": "url",
    "serverUrl": "url",
    "httpUrl": "url",
    "headers": "headers",
    "includeTools": "tools.allow",
    "excludeTools": "tools.block",
}
"""Their keys that mean what one of ours means."""

_WAYS = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "sse": "sse",
    "ws": "ws",
    "websocket": "ws",
}
"""Their words for a way to reach a server, and ours."""

_READ = {*_SAME, "type", "transport", "timeout", "disabled", "enabled", OURS}

SHORT_TIMEOUT = 1000
"""Milliseconds below which a timeout was probably meant in seconds."""


def draft_foreign(name: str, raw: Any, path: KeyPath, problems: Problems) -> Draft | None:
    """The draft of one entry; nothing if it is unreadable."""
    if not is_object(raw):
        problems.add(path, "must be a mapping that describes a server")
        return None
    same = {key: ours for key, ours in _SAME.items() if raw.get(key) is not None}
    entry = {ours: Given(raw[key], (*path, key)) for key, ours in same.items()}
    draft = Draft(fold_name(name), path, entry, foreign=True)
    if draft.name != name:
        draft.notes.append(f'"{name}" is called {draft.name} here')
    _take_way(draft, raw, problems)
    _take_timeout(draft, raw, problems)
    if raw.get(OURS) is not None:
        draft.entry |= sort_keys(SERVER_KEYS, raw[OURS], (*path, OURS), problems)
    draft.notes.extend(_unread(raw))
    return draft


def is_disabled(raw: Any, path: KeyPath, problems: Problems) -> bool:
    """Whether the file says that the server is not to be used."""
    flags = [(key, raw[key]) for key in ("disabled", "enabled") if is_object(raw) and raw.get(key) is not None]
    for key, value in flags:
        if not isinstance(value, bool):
            problems.add((*path, key), "must be true or false")
    return ("disabled", True) in flags or ("enabled", False) in flags


def _take_way(draft: Draft, raw: JsonObject, problems: Problems) -> None:
    key = "type" if raw.get("type") is not None else "transport"
    value = raw.get(key)
    if value is None:
        if "httpUrl" in raw:
            draft.entry["transport"] = Given("http", (*draft.path, "httpUrl"))
        return
    place = (*draft.path, key)
    if not isinstance(value, str):
        problems.add(place, "must be text: stdio, http, sse or ws")
        return
    draft.kind = _WAYS.get(value.lower(), "unknown")
    needed = "command" if draft.kind == "stdio" else "url"
    if draft.kind == "unknown":
        draft.refuse(problems.told(place, "is no way to reach a server that is known here; use stdio, http, sse or ws"))
    elif needed not in draft.entry:
        draft.refuse(problems.told(place, f"says {draft.kind}, but there is no {needed}"))
    elif needed == "url":
        draft.entry["transport"] = Given(draft.kind, place)


def _take_timeout(draft: Draft, raw: JsonObject, problems: Problems) -> None:
    value = raw.get("timeout")
    if value is None:
        return
    place = (*draft.path, "timeout")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        problems.add(place, "must be a number of milliseconds above 0")
        return
    draft.entry["timeouts.call"] = Given(value / 1000, place)
    if value < SHORT_TIMEOUT:
        draft.notes.append(f"timeout is read as milliseconds: {value:g} of them")


def _unread(raw: JsonObject) -> Iterator[str]:
    unread = [key for key, value in raw.items() if key not in _READ and value is not None]
    ours = [key for key in unread if key in siblings(SERVER_KEYS, "")]
    theirs = [key for key in unread if key not in ours]
    if ours:
        yield f"ignored {', '.join(ours)}: keys of ours stand under {OURS} in this file"
    if theirs:
        yield f"ignored {', '.join(theirs)}: not known here"
