"""Lock file of tool pinning (`bascule.lock`): the approved tools of each server, each with its definition."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bascule.catalog.digest import tool_digest
from bascule.catalog.pinning.definition_diff import changed_fields
from bascule.core.errors import ConfigError
from bascule.core.json_types import JsonObject, is_object
from bascule.core.text.invisible_chars import escaped_json
from bascule.core.tool import ToolKey

LOCK_NAME = "bascule.lock"

VERSION = 1
"""Of the file's shape. A later one may mean what we do not know, so it is not read."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class Approved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tool as it was approved."""

    digest: str
    definition: dict[str, Any]


class _Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tools: dict[str, Approved]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    servers: dict[str, _Server]


LockedServers = Mapping[str, Mapping[str, Approved]]
"""By the servers' names, then by their own names for their tools."""


@dataclass(frozen=True, slots=True)
class Lock:
    """What was approved, ready to be asked."""

    servers: LockedServers = field(default_factory=dict[str, Mapping[str, Approved]])
    every: bool = False
    """Whether tools of servers that are not in it need approval too."""
    trouble: ConfigError | None = None
    """Why it cannot be used. Nothing is approved then."""

    def covers(self, server: str) -> bool:
        """Whether the server's tools need approval."""
        return self.every or self.trouble is not None or server in self.servers

    def approved(self, key: ToolKey) -> Approved | None:
        return self.servers.get(key.server, {}).get(key.tool)

    def approves(self, key: ToolKey, digest: str) -> bool:
        """Whether this very definition of the tool was approved."""
        approved = self.approved(key)
        return self.trouble is None and approved is not None and approved.digest == digest

    def why_not(self, key: ToolKey, digest: str, definition: JsonObject) -> str:
        """Why a tool has to wait for approval, or nothing. Agents are told this, so it has no word of the server's."""
        if not self.covers(key.server) or self.approves(key, digest):
            return ""
        if self.trouble is not None:
            return f"{self.trouble.message}, so that no tool counts as approved; {self.trouble.fix}"
        approved = self.approved(key)
        remedy = f"`bascule approve {key.server}` shows it and asks"
        if approved is not None:
            differs = " and ".join(changed_fields(approved.definition, definition))
            return f"its {differs} changed since it was approved; {remedy}"
        what = "it is new since" if key.server in self.servers else "nobody has approved any tool of"
        return f"{what} {key.server}{' was approved' if key.server in self.servers else ''}; {remedy}"


def read_lock(data: bytes, where: str) -> LockedServers:
    """What a lock file says. Raises `ConfigError` where that is not beyond doubt."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
        found = _version_of(value)
        if found != VERSION:
            raise _unusable(where, f"it is of version {found}, and this program knows version {VERSION}")
        file = msgspec.convert(value, _File)
    except (ValueError, RecursionError) as error:
        raise _unusable(where, "it is not a lock file, or was damaged", str(error)[:200]) from None
    servers = {name: server.tools for name, server in file.servers.items()}
    wrong = [f"{server}/{tool}" for server, tools in servers.items() for tool in tools if not _holds(tool, tools[tool])]
    if wrong:
        told = "it holds definitions that are not what their digests say"
        raise _unusable(where, told, ", ".join(escaped_json(name) for name in wrong[:10]))
    return servers


def write_lock(servers: LockedServers) -> bytes:
    """The file's text: the same for the same approvals, one value a line, and nothing hides in it."""
    tools = {
        name: {"tools": {tool: {"digest": a.digest, "definition": a.definition} for tool, a in locked.items()}}
        for name, locked in servers.items()
    }
    compact = _encode({"servers": tools, "version": VERSION})
    return escaped_json(msgspec.json.format(compact, indent=2).decode()).encode() + b"\n"


def _once(pairs: Iterable[tuple[str, Any]]) -> JsonObject:
    """An object. A doubled key would be one thing to who reads the file, and another to us."""
    found: JsonObject = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key[:80]!r} stands twice")
        found[key] = value
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _version_of(value: Any) -> Any:
    if not is_object(value) or "version" not in value:
        raise ValueError("it has no version")
    version = value["version"]
    # True would pass for 1.
    return version if type(version) is int else repr(version)[:40]


def _holds(tool: str, approved: Approved) -> bool:
    try:
        return approved.definition.get("name") == tool and tool_digest(approved.definition) == approved.digest
    except (ValueError, RecursionError):
        return False


def _unusable(where: str, why: str, evidence: str = "") -> ConfigError:
    return ConfigError(
        f"{LOCK_NAME} cannot be used: {why}",
        problems=(evidence,) if evidence else (),
        where=where,
        fix=f"restore {LOCK_NAME} from version control, or remove it and approve every server anew",
    )
