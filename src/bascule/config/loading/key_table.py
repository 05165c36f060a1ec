"""Key table of the config file: type, default, availability and a one-sentence description of every key."""

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


SERVER_WORDS = {
    "command": "The program to start. It is found on PATH and never run by a shell.",
    "args": "Its arguments, one by one.",
    "cwd": "The folder it runs in.",
    "env": "Its environment: these, and PATH, HOME, LANG, TERM and TMPDIR.",
    "inherit_env": "Names, or patterns of names, of our own variables that may pass to it.",
    "url": "Where it is reached: https://, http://, wss://, ws:// or unix:///path.",
    "transport": "By which way, where the address alone does not tell.",
    "headers": "Headers of every request; credentials belong here and never into the address.",
    "headers_command": "A program that prints headers as JSON, for each principal its own.",
    "oauth.client_id": "The name by which its login server knows us, where it does not register clients by itself.",
    "oauth.client_secret": "The secret that belongs to it.",
    "oauth.scopes": "The rights to ask for.",
    "container": "A running container in which the command is started.",
    "era": "Which protocol it speaks; found out by itself unless said.",
    "required": "Whether its failure fails the start.",
    "prefix": 'What its tools\' names begin with; its own name unless said, "" for nothing.',
    "tools.allow": "Patterns of its own names of tools; only these are shown.",
    "tools.block": "Patterns of its own names of tools that are not shown.",
    "render": "How structured results become text.",
    "limit": "The preset that bounds its results.",
    "permissions": "What each tool may do: read, write, connect, or several of them.",
    "idempotent": "Tools that may be called again after a lost connection, beside those that only read.",
    "trust": "What is believed of what the server says of itself: permissions, annotations, labels, fatal.",
    "ask": "Tools whose calls wait for a person.",
    "raises": "Tools whose calls make an agent session this private, before they are sent.",
    "vouched": "Your word that it has no way out, up to this level.",
    "kit": "Whether it is a server of our kit, and gets a token that says who asks.",
    "url_isolated": "Where its isolated twin is reached.",
    "command_isolated": "The program and arguments of its isolated twin.",
    "twin": "Whether the twin is started when it is needed, or ahead.",
    "sandbox": "`none` runs it without a box; what may be said of the box stands below.",
    "sandbox.engine": "What makes its box.",
    "sandbox.image": "The image of its box, with Docker.",
    "sandbox.mounts": "What of this machine it sees; `auto`: the paths in its arguments and its folder, to read.",
    "sandbox.memory": "Memory of its box.",
    "sandbox.cpus": "Processors of its box.",
    "sandbox.pids": "Processes and threads in its box.",
    "sandbox.disk": "What it may write.",
    "sandbox.session_limit": "Seconds after which its box is made anew.",
    "lifetime": "Whether it is linked to for a call, for an agent session, or once for all.",
    "stateless": "Whether it keeps nothing between calls.",
    "timeouts.connect": "Seconds to start it, or to connect, the first time.",
    "timeouts.reconnect": "The same after it was lost.",
    "timeouts.probe": "Seconds to find out which era it speaks.",
    "timeouts.list": "Seconds for its list of tools.",
    "timeouts.call": "Seconds for a call.",
    "timeouts.close": "Seconds to end by itself.",
    "heartbeat.interval": "Seconds between two signs of life that are asked for.",
    "heartbeat.stale_after": "Seconds of silence after which it is given up.",
    "restart.attempts": "How often it is started again after it has died.",
    "restart.backoff": "Seconds before the first of these; doubled each time.",
    "limits.concurrent": "Calls of one principal at once.",
    "limits.per_minute": "Calls of one principal in a minute.",
    "limits.bytes_per_minute": "Bytes of one principal in a minute, there and back.",
    "type": "`server` for one that `bascule run` starts.",
    "target": "The file of that server, or `module:name`.",
    "instructions": "What its clients are told about its use.",
    "port": "The port at which it is served.",
    "auth.keys": "What tokens are signed with: {jwks: URL}, {public_key: PEM}, {secret: TEXT}.",
    "auth.issuer": "Who must have made a token.",
    "auth.audience": "For whom a token must be.",
    "auth.claims.user": "The claim that names the user.",
    "auth.claims.session": "The claim that names the agent session.",
}
"""Description of each key of `SERVER_KEYS` in one sentence, for completion in editors."""

TOP_WORDS = {
    "egress.allow": "Hosts that may receive confidential data: exact names, or *.example.com.",
    "egress.ports": "Ports of these hosts.",
    "links.max": "Links that may be open at once.",
    "links.starting": "Servers that may be starting at once.",
    "messages.max": "The longest message that is taken.",
    "catalog.lock": "Whether only tools that were approved in bascule.lock are shown.",
    "catalog.screen": "What becomes of a tool whose words look like an attack.",
    "catalog.search_above": "With more tools than this, agents get two that find and call the others.",
    "results.presets": "How much of long results is shown, by name.",
    "workspace.root": "Where the folders of agent sessions are.",
    "workspace.quota": "What one of them may hold.",
    "store": "Where levels, approvals and anchors are kept: a file of SQLite, or postgresql://…",
    "audit.arguments": "Whether the audit log has the arguments of calls, or only their shape.",
    "audit.anchor_every": "Seconds between two anchors of the audit log.",
    "gateway.host": "The address at which `bascule serve` listens.",
    "gateway.port": "Its port.",
    "gateway.auth.keys": "What tokens are signed with: {jwks: URL}, {public_key: PEM}, {secret: TEXT}.",
    "gateway.auth.issuer": "Who must have made a token.",
    "gateway.auth.audience": "For whom a token must be.",
    "gateway.auth.claims.user": "The claim that names the user.",
    "gateway.auth.claims.session": "The claim that names the agent session.",
    "gateway.workers": "How many processes serve.",
    "telemetry.otlp": "A collector that speaks OTLP over HTTP.",
    "telemetry.prometheus": "host:port at which Prometheus finds the metrics.",
    "dashboard.enabled": "Whether `bascule serve` and `bascule up` have a dashboard.",
    "dashboard.token": "What opens it; `auto` is made once, and kept in the state folder.",
}
"""Description of each key of `TOP_KEYS`, for the same purpose."""
