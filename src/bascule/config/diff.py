"""Diff of two configs: servers that are added, removed, restarted, or changed without a restart."""

import re
from dataclasses import dataclass, fields

from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.core.errors import ConfigError

RELISTED = frozenset({"prefix", "allow", "block", "permissions", "trust"})
"""What changes how its tools are seen: what they are called, which of them are shown, what they may do."""

RETUNED = RELISTED | {"render", "limit", "timeouts", "required", "idempotent", "limits", "ask", "raises", "vouched"}
"""What can change under a server that runs. It is read for each call, or when the next link opens; all else is part of
how the server is reached, or of the link itself."""

SETTINGS = {
    "links_max": "links.max",
    "links_starting": "links.starting",
    "message_max": "messages.max",
    "store": "store",
    "screen": "catalog.screen",
    "lock": "catalog.lock",
    "search_above": "catalog.search_above",
    "workspace_root": "workspace.root",
    "workspace_quota": "workspace.quota",
    "audit_arguments": "audit.arguments",
    "anchor_every": "audit.anchor_every",
    "gateway": "gateway",
    "telemetry": "telemetry",
    "dashboard": "dashboard",
}
"""What stands beside the servers, by its key in the file. All of it is settled when the program starts. Presets are not
among it: a server's `limit` holds what it names, so that a changed preset is a change of those servers. Nor is
`egress`: who may no longer receive, receives nothing more from the moment of the edit on."""

_LINE = re.compile(r":\d+(?=: )")


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """Servers by name, in the order of the file. Each is in one place; `relisted` alone is a part of `retuned`."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    retuned: tuple[str, ...] = ()
    relisted: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """Keys beside the servers that changed, and need a new start of the program."""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.restarted or self.retuned)


def difference(old: RuntimeConfig, new: RuntimeConfig) -> ConfigDiff:
    """Secrets count by what they reveal, so a changed variable is a change of every server that names it."""
    both = {name: _changed(old.servers[name], server) for name, server in new.servers.items() if name in old.servers}
    restarted = [name for name, changed in both.items() if not changed <= RETUNED]
    retuned = [name for name, changed in both.items() if changed and changed <= RETUNED]
    return ConfigDiff(
        added=tuple(name for name in new.servers if name not in old.servers),
        removed=tuple(name for name in old.servers if name not in new.servers),
        restarted=tuple(restarted),
        retuned=tuple(retuned),
        relisted=tuple(name for name in retuned if both[name] & RELISTED),
        untouched=tuple(name for name, changed in both.items() if not changed),
        settings=tuple(key for field, key in SETTINGS.items() if getattr(old, field) != getattr(new, field)),
    )


def _changed(old: ServerConfig, new: ServerConfig) -> set[str]:
    """The fields in which two descriptions of one server differ."""
    compared = [field.name for field in fields(old) if field.compare]
    changed = {name for name in compared if getattr(old, name) != getattr(new, name)}
    if _told(old.unavailable_reason) != _told(new.unavailable_reason):
        changed.add("unavailable_reason")
    return changed


def _told(reason: ConfigError | None) -> str | None:
    """Why a server cannot be used, without the line in the file: that moves with every edit above it."""
    return None if reason is None else _LINE.sub("", f"{reason.message}\n{reason.evidence}")
