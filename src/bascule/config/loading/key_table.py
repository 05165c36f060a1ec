"""Every key of a configuration file as data: its type, its default, and whether this version has it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bascule.config.model.egress import PORTS
from bascule.config.model.kit_server import PORT
from bascule.config.model.link_settings import LIFETIMES
from bascule.config.model.runtime_config import (
    AUDITED,
    ERAS,
    LINKS_MAX,
    LINKS_STARTING,
    LOCKINGS,
    MESSAGE_MAX,
    SCREENS,
    STYLES,
    WORKSPACE_QUOTA,
)
from bascule.config.model.sandbox import AUTO, DISK, ENGINES, MEMORY, NONE, PIDS, SESSION_LIMIT
from bascule.config.model.trust import VOUCHED
from bascule.config.model.twin import TWINS


class Kind(StrEnum):
    """The type of a key, in the words of an error message."""

    TEXT = "text"
    TEXTS = "a list of texts"
    TEXT_MAP = "a mapping of names to texts"
    FLAG = "true or false"
    SECONDS = "a number of seconds above 0"
    COUNT = "a whole number above 0"
    COUNTS = "a list of whole numbers above 0"
    NUMBER = "a number above 0"
    SIZE = "a size such as 8MiB"
    TABLES = "a list of mappings"
    """What may stand in one of them is the model's to say."""
    MOUNTS = "auto, or a list of mappings"
    """The same."""
    WORD_MAP = "a mapping of names to words"
    """What the words may be, and whether several stand in a list, is the model's to say."""
    NUMBER_MAPS = "a mapping of names to mappings of numbers"
    """Which numbers there are, and how large they may be, is the model's to say."""
    CHOICE = "one of a few words"
    OTHER = "a value of its own form"
    """Only for keys this version does not read."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key. Its name is dotted where it stands inside another: `timeouts.call`. A key with others inside it may be a
    word too, if it is in the table itself: `sandbox: none`."""

    name: str
    kind: Kind
    default: Any = None
    choices: tuple[str, ...] = ()
    available: bool = True


def _by_name(*keys: Key) -> dict[str, Key]:
    return {key.name: key for key in keys}


SERVER_KEYS = _by_name(
    Key("command", Kind.TEXT),
    Key("args", Kind.TEXTS, ()),
    Key("cwd", Kind.TEXT),
    Key("env", Kind.TEXT_MAP, {}),
    Key("inherit_env", Kind.TEXTS, ()),
    Key("url", Kind.TEXT),
    Key("transport", Kind.CHOICE, "auto", ("auto", "http", "sse", "ws")),
    Key("headers", Kind.TEXT_MAP, {}),
    Key("headers_command", Kind.TEXTS),
    Key("oauth.client_id", Kind.TEXT),
    Key("oauth.client_secret", Kind.TEXT),
    Key("oauth.scopes", Kind.TEXTS, ()),
    Key("container", Kind.TEXT),
    Key("era", Kind.CHOICE, "auto", ERAS),
    Key("required", Kind.FLAG, default=False),
    Key("prefix", Kind.TEXT),
    Key("tools.allow", Kind.TEXTS),
    Key("tools.block", Kind.TEXTS, ()),
    Key("render", Kind.CHOICE, "yaml", STYLES),
    Key("limit", Kind.TEXT),
    Key("permissions", Kind.WORD_MAP, {}),
    Key("idempotent", Kind.TEXTS, ()),
    Key("trust", Kind.TEXTS, ()),
    Key("ask", Kind.TEXTS, ()),
    Key("raises", Kind.WORD_MAP, {}),
    Key("vouched", Kind.CHOICE, choices=VOUCHED),
    Key("kit", Kind.FLAG, default=False),
    Key("url_isolated", Kind.TEXT),
    Key("command_isolated", Kind.TEXTS),
    Key("twin", Kind.CHOICE, "lazy", TWINS),
    Key("sandbox", Kind.CHOICE, choices=(NONE,)),
    Key("sandbox.engine", Kind.CHOICE, "auto", ENGINES),
    Key("sandbox.image", Kind.TEXT),
    Key("sandbox.mounts", Kind.MOUNTS, AUTO),
    Key("sandbox.memory", Kind.SIZE, MEMORY),
    Key("sandbox.cpus", Kind.NUMBER, 1),
    Key("sandbox.pids", Kind.COUNT, PIDS),
    Key("sandbox.disk", Kind.SIZE, DISK),
    Key("sandbox.session_limit", Kind.SECONDS, SESSION_LIMIT),
    Key("lifetime", Kind.CHOICE, "session", LIFETIMES),
    Key("stateless", Kind.FLAG, default=False),
    Key("timeouts.connect", Kind.SECONDS, 60),
    Key("timeouts.reconnect", Kind.SECONDS, 15),
    Key("timeouts.probe", Kind.SECONDS, 3),
    Key("timeouts.list", Kind.SECONDS, 15),
    Key("timeouts.call", Kind.SECONDS, 30),
    Key("timeouts.close", Kind.SECONDS, 5),
    Key("heartbeat.interval", Kind.SECONDS, 30),
    Key("heartbeat.stale_after", Kind.SECONDS, 90),
    Key("restart.attempts", Kind.COUNT, 5),
    Key("restart.backoff", Kind.SECONDS, 2),
    Key("limits.concurrent", Kind.COUNT, 16),
    Key("limits.per_minute", Kind.COUNT),
    Key("limits.bytes_per_minute", Kind.SIZE),
    Key("type", Kind.TEXT),
    Key("target", Kind.TEXT),
    Key("instructions", Kind.TEXT),
    Key("port", Kind.COUNT, PORT),
    Key("auth.keys", Kind.TABLES, ()),
    Key("auth.issuer", Kind.TEXT),
    Key("auth.audience", Kind.TEXT),
    Key("auth.claims.user", Kind.TEXT, "sub"),
    Key("auth.claims.session", Kind.TEXT, "session_id"),
)
"""What may stand in one server's entry."""

KIT_SERVER_KEYS = tuple(
    name for name in SERVER_KEYS if name in {"type", "target", "instructions", "port"} or name.startswith("auth.")
)
"""Those of them that belong to a server which is started here; all others belong to one that is connected to."""

TOP_KEYS = _by_name(
    Key("egress.allow", Kind.TEXTS, ()),
    Key("egress.ports", Kind.COUNTS, PORTS),
    Key("links.max", Kind.COUNT, LINKS_MAX),
    Key("links.starting", Kind.COUNT, LINKS_STARTING),
    Key("messages.max", Kind.SIZE, MESSAGE_MAX),
    Key("catalog.lock", Kind.CHOICE, "auto", LOCKINGS),
    Key("catalog.screen", Kind.CHOICE, "flag", SCREENS),
    Key("catalog.search_above", Kind.COUNT),
    Key("results.presets", Kind.NUMBER_MAPS, {}),
    Key("workspace.root", Kind.TEXT),
    Key("workspace.quota", Kind.SIZE, WORKSPACE_QUOTA),
    Key("store", Kind.TEXT),
    Key("audit.arguments", Kind.CHOICE, "shape", AUDITED),
    Key("audit.anchor_every", Kind.SECONDS, 60),
    Key("gateway.host", Kind.TEXT, "127.0.0.1"),
    Key("gateway.port", Kind.COUNT, 8470),
    Key("gateway.auth.keys", Kind.TABLES, ()),
    Key("gateway.auth.issuer", Kind.TEXT),
    Key("gateway.auth.audience", Kind.TEXT),
    Key("gateway.auth.claims.user", Kind.TEXT, "sub"),
    Key("gateway.auth.claims.session", Kind.TEXT, "session_id"),
    Key("gateway.workers", Kind.COUNT, 1),
    Key("telemetry.otlp", Kind.TEXT),
    Key("telemetry.prometheus", Kind.TEXT),
    Key("dashboard.enabled", Kind.FLAG, default=True),
    Key("dashboard.token", Kind.TEXT, "auto"),
)
"""What may stand beside the servers."""


def below(keys: dict[str, Key], table: str) -> list[Key]:
    """The keys that stand inside a table: `timeouts` gives `timeouts.call` and its siblings."""
    return [key for key in keys.values() if key.name.startswith(f"{table}.")]


def siblings(keys: dict[str, Key], prefix: str) -> set[str]:
    """What may be written at one place: the first words of the names that begin with `prefix`."""
    return {name.removeprefix(prefix).partition(".")[0] for name in keys if name.startswith(prefix)}
