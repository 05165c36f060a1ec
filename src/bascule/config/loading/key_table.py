"""Table of the keys of a config file, one row per key: name, type, meaning, default and choices. The loader, the JSON
Schema and the reference page read it; the defaults are those of the model, and none is a literal here."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bascule.config.model.gateway import AUTO
from bascule.config.model.kit_server import KitServer
from bascule.config.model.link_settings import LIFETIMES
from bascule.config.model.runtime_config import (
    AUDITED,
    ERAS,
    LOCKINGS,
    SCREENS,
    STYLES,
    RuntimeConfig,
    ServerConfig,
)
from bascule.config.model.sandbox import ENGINES, NONE, Sandbox
from bascule.config.model.transport import StdioTransport, StreamableHttpTransport
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
    meaning: str
    """One sentence, for the reference page and for editors that read the JSON Schema."""
    default: Any = None
    choices: tuple[str, ...] = ()
    available: bool = True


def _by_name(*keys: Key) -> dict[str, Key]:
    return {key.name: key for key in keys}


_STDIO = StdioTransport("command")
_REMOTE = StreamableHttpTransport("https://host")
_SERVER = ServerConfig("name", _STDIO)
_SANDBOX = Sandbox()
_KIT_SERVER = KitServer("name", "target")
_RUNTIME = RuntimeConfig(servers={})
"""Model values that are given nothing optional: their fields are the defaults of the rows below."""

SERVER_KEYS = _by_name(
    Key("command", Kind.TEXT, "The program to start. It is found on PATH and never run by a shell."),
    Key("args", Kind.TEXTS, "Its arguments, one by one.", _STDIO.args),
    Key("cwd", Kind.TEXT, "The folder it runs in.", _STDIO.cwd),
    Key("env", Kind.TEXT_MAP, "Its environment: these, and PATH, HOME, LANG, TERM and TMPDIR.", dict(_STDIO.env)),
    Key(
        "inherit_env",
        Kind.TEXTS,
        "Names, or patterns of names, of our own variables that may pass to it.",
        _STDIO.inherit_env,
    ),
    Key("url", Kind.TEXT, "Where it is reached: https://, http://, wss://, ws:// or unix:///path."),
    Key(
        "transport",
        Kind.CHOICE,
        "By which way, where the address alone does not tell.",
        _REMOTE.choice,
        ("auto", "http", "sse", "ws"),
    ),
    Key(
        "headers",
        Kind.TEXT_MAP,
        "Headers of every request; credentials belong here and never into the address.",
        dict(_REMOTE.headers),
    ),
    Key(
        "headers_command",
        Kind.TEXTS,
        "A program that prints headers as JSON, for each principal its own.",
        _SERVER.headers_command,
    ),
    Key(
        "oauth.client_id",
        Kind.TEXT,
        "The name by which its login server knows us, where it does not register clients by itself.",
        _SERVER.oauth.client_id,
    ),
    Key("oauth.client_secret", Kind.TEXT, "The secret that belongs to it.", _SERVER.oauth.client_secret),
    Key("oauth.scopes", Kind.TEXTS, "The rights to ask for.", _SERVER.oauth.scopes),
    Key("container", Kind.TEXT, "A running container in which the command is started."),
    Key("era", Kind.CHOICE, "Which protocol it speaks; found out by itself unless said.", _SERVER.era, ERAS),
    Key("required", Kind.FLAG, "Whether its failure fails the start.", _SERVER.required),
    Key(
        "prefix",
        Kind.TEXT,
        'What its tools\' names begin with; its own name unless said, "" for nothing.',
        _SERVER.prefix,
    ),
    Key("tools.allow", Kind.TEXTS, "Patterns of its own names of tools; only these are shown.", _SERVER.allow),
    Key("tools.block", Kind.TEXTS, "Patterns of its own names of tools that are not shown.", _SERVER.block),
    Key("render", Kind.CHOICE, "How structured results become text.", _SERVER.render, STYLES),
    Key("limit", Kind.TEXT, "The preset that bounds its results.", _SERVER.limit),
    Key(
        "permissions",
        Kind.WORD_MAP,
        "What each tool may do: read, write, connect, or several of them.",
        dict(_SERVER.permissions),
    ),
    Key(
        "idempotent",
        Kind.TEXTS,
        "Tools that may be called again after a lost connection, beside those that only read.",
        _SERVER.idempotent,
    ),
    Key(
        "trust",
        Kind.TEXTS,
        "What is believed of what the server says of itself: permissions, annotations, labels, fatal.",
        tuple(sorted(_SERVER.trust)),
    ),
    Key("ask", Kind.TEXTS, "Tools whose calls wait for a person.", _SERVER.ask),
    Key(
        "raises",
        Kind.WORD_MAP,
        "Tools whose calls make an agent session this private, before they are sent.",
        dict(_SERVER.raises),
    ),
    Key("vouched", Kind.CHOICE, "Your word that it has no way out, up to this level.", _SERVER.vouched, VOUCHED),
    Key("kit", Kind.FLAG, "Whether it is a server of our kit, and gets a token that says who asks.", _SERVER.kit),
    Key("url_isolated", Kind.TEXT, "Where its isolated twin is reached."),
    Key("command_isolated", Kind.TEXTS, "The program and arguments of its isolated twin."),
    Key("twin", Kind.CHOICE, "Whether the twin is started when it is needed, or ahead.", _SERVER.twin, TWINS),
    Key(
        "sandbox",
        Kind.CHOICE,
        "`none` runs it without a box; what may be said of the box stands below.",
        _SERVER.sandbox,
        (NONE,),
    ),
    Key("sandbox.engine", Kind.CHOICE, "What makes its box.", _SANDBOX.engine, ENGINES),
    Key("sandbox.image", Kind.TEXT, "The image of its box, with Docker.", _SANDBOX.image),
    Key(
        "sandbox.mounts",
        Kind.MOUNTS,
        "What of this machine it sees; `auto`: the paths in its arguments and its folder, to read.",
        _SANDBOX.mounts,
    ),
    Key("sandbox.memory", Kind.SIZE, "Memory of its box.", _SANDBOX.memory),
    Key("sandbox.cpus", Kind.NUMBER, "Processors of its box.", _SANDBOX.cpus),
    Key("sandbox.pids", Kind.COUNT, "Processes and threads in its box.", _SANDBOX.pids),
    Key("sandbox.disk", Kind.SIZE, "What it may write.", _SANDBOX.disk),
    Key("sandbox.session_limit", Kind.SECONDS, "Seconds after which its box is made anew.", _SANDBOX.session_limit),
    Key(
        "lifetime",
        Kind.CHOICE,
        "Whether it is linked to for a call, for an agent session, or once for all.",
        _SERVER.lifetime,
        LIFETIMES,
    ),
    Key("stateless", Kind.FLAG, "Whether it keeps nothing between calls.", _SERVER.stateless),
    Key(
        "timeouts.connect",
        Kind.SECONDS,
        "Seconds to start it, or to connect, the first time.",
        _SERVER.timeouts.connect,
    ),
    Key("timeouts.reconnect", Kind.SECONDS, "The same after it was lost.", _SERVER.timeouts.reconnect),
    Key("timeouts.probe", Kind.SECONDS, "Seconds to find out which era it speaks.", _SERVER.timeouts.probe),
    Key("timeouts.list", Kind.SECONDS, "Seconds for its list of tools.", _SERVER.timeouts.list),
    Key("timeouts.call", Kind.SECONDS, "Seconds for a call.", _SERVER.timeouts.call),
    Key("timeouts.close", Kind.SECONDS, "Seconds to end by itself.", _SERVER.timeouts.close),
    Key(
        "heartbeat.interval",
        Kind.SECONDS,
        "Seconds between two signs of life that are asked for.",
        _SERVER.heartbeat.interval,
    ),
    Key(
        "heartbeat.stale_after",
        Kind.SECONDS,
        "Seconds of silence after which it is given up.",
        _SERVER.heartbeat.stale_after,
    ),
    Key("restart.attempts", Kind.COUNT, "How often it is started again after it has died.", _SERVER.restart.attempts),
    Key(
        "restart.backoff",
        Kind.SECONDS,
        "Seconds before the first of these; doubled each time.",
        _SERVER.restart.backoff,
    ),
    Key("limits.concurrent", Kind.COUNT, "Calls of one principal at once.", _SERVER.limits.concurrent),
    Key("limits.per_minute", Kind.COUNT, "Calls of one principal in a minute.", _SERVER.limits.per_minute),
    Key(
        "limits.bytes_per_minute",
        Kind.SIZE,
        "Bytes of one principal in a minute, there and back.",
        _SERVER.limits.bytes_per_minute,
    ),
    Key("type", Kind.TEXT, "`server` for one that `bascule run` starts."),
    Key("target", Kind.TEXT, "The file of that server, or `module:name`."),
    Key("instructions", Kind.TEXT, "What its clients are told about its use.", _KIT_SERVER.instructions),
    Key("port", Kind.COUNT, "The port at which it is served.", _KIT_SERVER.port),
    Key(
        "auth.keys",
        Kind.TABLES,
        "What tokens are signed with: {jwks: URL}, {public_key: PEM}, {secret: TEXT}.",
        _KIT_SERVER.auth.keys,
    ),
    Key("auth.issuer", Kind.TEXT, "Who must have made a token.", _KIT_SERVER.auth.issuer),
    Key("auth.audience", Kind.TEXT, "For whom a token must be.", _KIT_SERVER.auth.audience),
    Key("auth.claims.user", Kind.TEXT, "The claim that names the user.", _KIT_SERVER.auth.claims.user),
    Key("auth.claims.session", Kind.TEXT, "The claim that names the agent session.", _KIT_SERVER.auth.claims.session),
)
"""What may stand in one server's entry."""

KIT_SERVER_KEYS = tuple(
    name for name in SERVER_KEYS if name in {"type", "target", "instructions", "port"} or name.startswith("auth.")
)
"""Those of them that belong to a server which is started here; all others belong to one that is connected to."""

TOP_KEYS = _by_name(
    Key(
        "egress.allow",
        Kind.TEXTS,
        "Hosts that may receive confidential data: exact names, or *.example.com.",
        _RUNTIME.egress.allow,
    ),
    Key("egress.ports", Kind.COUNTS, "Ports of these hosts.", _RUNTIME.egress.ports),
    Key("links.max", Kind.COUNT, "Links that may be open at once.", _RUNTIME.links_max),
    Key("links.starting", Kind.COUNT, "Servers that may be starting at once.", _RUNTIME.links_starting),
    Key("messages.max", Kind.SIZE, "The longest message that is taken.", _RUNTIME.message_max),
    Key(
        "catalog.lock",
        Kind.CHOICE,
        "Whether only tools that were approved in bascule.lock are shown.",
        _RUNTIME.lock,
        LOCKINGS,
    ),
    Key(
        "catalog.screen",
        Kind.CHOICE,
        "What becomes of a tool whose words look like an attack.",
        _RUNTIME.screen,
        SCREENS,
    ),
    Key(
        "catalog.search_above",
        Kind.COUNT,
        "With more tools than this, agents get two that find and call the others.",
        _RUNTIME.search_above,
    ),
    Key("results.presets", Kind.NUMBER_MAPS, "How much of long results is shown, by name.", {}),
    Key("workspace.root", Kind.TEXT, "Where the folders of agent sessions are.", _RUNTIME.workspace_root),
    Key("workspace.quota", Kind.SIZE, "What one of them may hold.", _RUNTIME.workspace_quota),
    Key(
        "store",
        Kind.TEXT,
        "Where levels, approvals and anchors are kept: a file of SQLite, or postgresql://…",
        _RUNTIME.store,
    ),
    Key(
        "audit.arguments",
        Kind.CHOICE,
        "Whether the audit log has the arguments of calls, or only their shape.",
        _RUNTIME.audit_arguments,
        AUDITED,
    ),
    Key("audit.anchor_every", Kind.SECONDS, "Seconds between two anchors of the audit log.", _RUNTIME.anchor_every),
    Key("gateway.host", Kind.TEXT, "The address at which `bascule serve` listens.", _RUNTIME.gateway.host),
    Key("gateway.port", Kind.COUNT, "Its port.", _RUNTIME.gateway.port),
    Key(
        "gateway.auth.keys",
        Kind.TABLES,
        "What tokens are signed with: {jwks: URL}, {public_key: PEM}, {secret: TEXT}.",
        _RUNTIME.gateway.auth.keys,
    ),
    Key("gateway.auth.issuer", Kind.TEXT, "Who must have made a token.", _RUNTIME.gateway.auth.issuer),
    Key("gateway.auth.audience", Kind.TEXT, "For whom a token must be.", _RUNTIME.gateway.auth.audience),
    Key("gateway.auth.claims.user", Kind.TEXT, "The claim that names the user.", _RUNTIME.gateway.auth.claims.user),
    Key(
        "gateway.auth.claims.session",
        Kind.TEXT,
        "The claim that names the agent session.",
        _RUNTIME.gateway.auth.claims.session,
    ),
    Key("gateway.workers", Kind.COUNT, "How many processes serve.", _RUNTIME.gateway.workers),
    Key("telemetry.otlp", Kind.TEXT, "A collector that speaks OTLP over HTTP.", _RUNTIME.telemetry.otlp),
    Key(
        "telemetry.prometheus",
        Kind.TEXT,
        "host:port at which Prometheus finds the metrics.",
        _RUNTIME.telemetry.prometheus,
    ),
    Key(
        "dashboard.enabled",
        Kind.FLAG,
        "Whether `bascule serve` and `bascule up` have a dashboard.",
        _RUNTIME.dashboard.enabled,
    ),
    Key("dashboard.token", Kind.TEXT, "What opens it; `auto` is made once, and kept in the state folder.", AUTO),
)
"""What may stand beside the servers."""


def below(keys: dict[str, Key], table: str) -> list[Key]:
    """The keys that stand inside a table: `timeouts` gives `timeouts.call` and its siblings."""
    return [key for key in keys.values() if key.name.startswith(f"{table}.")]


def siblings(keys: dict[str, Key], prefix: str) -> set[str]:
    """What may be written at one place: the first words of the names that begin with `prefix`."""
    return {name.removeprefix(prefix).partition(".")[0] for name in keys if name.startswith(prefix)}
