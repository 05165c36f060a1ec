"""Validated model of one server (`ServerConfig`) and of a whole configuration (`RuntimeConfig`), from a file or from
code."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from bascule.config.model.egress import Egress
from bascule.config.model.gateway import DashboardSettings, GatewaySettings
from bascule.config.model.kit_server import KitServer, told_flaws
from bascule.config.model.link_settings import LIFETIMES, Heartbeat, Lifetime, Limits, Restart, lifetime_flaws
from bascule.config.model.oauth import OAuthSettings
from bascule.config.model.result_presets import Preset, preset_map, presets_flaws
from bascule.config.model.sandbox import NONE, Sandbox
from bascule.config.model.telemetry import TelemetrySettings
from bascule.config.model.transport import NoTransport, RemoteTransport, StdioTransport, Transport
from bascule.config.model.trust import (
    Trusted,
    level_map,
    permission_flaws,
    permission_map,
    raises_flaws,
    trust_flaws,
    vouched_flaws,
)
from bascule.config.model.twin import TWINS, Twin, twin_flaws
from bascule.config.validation import (
    Flaw,
    ask_flaws,
    choice_flaws,
    exposure_flaws,
    headers_command_flaws,
    idempotent_flaws,
    name_flaws,
    refuse,
    runtime_flaws,
    seconds_flaws,
    texts,
)
from bascule.core.errors import ConfigError
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity
from bascule.core.workspace_quota import WORKSPACE_QUOTA

if TYPE_CHECKING:
    from bascule.core.rendering import Style

Era = Literal["auto", "old", "new"]
ERAS = ("auto", "old", "new")
STYLES = ("yaml", "json")
Screen = Literal["flag", "refuse"]
SCREENS = ("flag", "refuse")
Locking = Literal["auto", "required", "off"]
LOCKINGS = ("auto", "required", "off")
Audited = Literal["shape", "full"]
AUDITED = ("shape", "full")

MESSAGE_MAX = 8 * 1024 * 1024
"""Longest message we accept unless told otherwise. Results with images reach a few megabytes."""

LINKS_MAX = 100
"""Links that may be open at once, over all servers and principals."""

LINKS_STARTING = 8
"""Links that may be starting at once. A hundred `npx` at once starve each other until all of them time out."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds allowed for each part of a link's life."""

    connect: float = 60
    """A first start, which may have to download the server."""
    reconnect: float = 15
    probe: float = 3
    list: float = 15
    call: float = 30
    close: float = 5

    def __post_init__(self) -> None:
        refuse("Timeouts", chain.from_iterable(seconds_flaws(f.name, getattr(self, f.name)) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server: how to reach it, what agents see of it, how long it may take.

    A server that cannot be used although the rest of the file can (a variable is not set, say) is here too, with
    `unavailable_reason`; asking for it raises that, and the others go on.
    """

    name: str
    transport: Transport
    prefix: str | None = None
    """Put before the names of its tools. None: the server's name; empty: nothing."""
    allow: tuple[str, ...] | None = None
    """Globs on the server's own tool names. None: all of them; empty: none."""
    block: tuple[str, ...] = ()
    render: "Style" = "yaml"
    limit: Preset | None = None
    """How much of a long result of its tools is shown. None: all of it."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    era: Era = "auto"
    required: bool = False
    """Whether its failure fails the start of the whole runtime."""
    oauth: OAuthSettings = field(default_factory=OAuthSettings)
    """How to log in there, if it is a remote server that asks for it."""
    headers_command: tuple[str, ...] | None = None
    """The program, with its arguments, that prints the headers of a remote server for each principal."""
    idempotent: tuple[str, ...] = ()
    """Globs on its tools that may be sent again where it is not known whether they were carried out."""
    lifetime: Lifetime = "session"
    """How long a link lives: for one call, for an agent session, or shared by everyone."""
    stateless: bool = False
    """Whether the server keeps nothing from one call to the next, so that principals may share a link."""
    heartbeat: Heartbeat = field(default_factory=Heartbeat)
    restart: Restart = field(default_factory=Restart)
    limits: Limits = field(default_factory=Limits)
    permissions: Mapping[str, frozenset[Permission]] = field(default_factory=dict[str, frozenset[Permission]])
    """What each tool may do to the world, by globs on the server's own names, or by the method of another request."""
    trust: frozenset[Trusted] = frozenset()
    """What the server is believed about."""
    ask: tuple[str, ...] = ()
    """Globs on the server's own tool names: those that wait for a person."""
    raises: Mapping[str, DataSensitivity] = field(default_factory=dict[str, DataSensitivity])
    """The level that a call raises to before it is sent, by globs on the server's own tool names."""
    vouched: DataSensitivity | None = None
    """Up to which level the operator vouches that the server has no way out."""
    isolated: Transport | None = None
    """How its declared twin is reached."""
    twin: Twin = "lazy"
    """When its twin is opened."""
    sandbox: Sandbox | Literal["none"] | None = None
    """The box that it runs in, if it is a process. None: the best that can be had here; without any it is loose."""
    kit: bool = False
    """Whether it is a server of our kit, which is told on whose behalf it is asked: by a token minted for it alone."""
    location: str = field(default="", compare=False)
    """Where it was described, for messages."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What is worth telling the operator."""
    unavailable_reason: ConfigError | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        refuse(
            f"ServerConfig {self.name!r}",
            chain(
                name_flaws(self.name),
                exposure_flaws(prefix=self.prefix, allow=self.allow, block=self.block),
                choice_flaws("render", self.render, STYLES),
                choice_flaws("era", self.era, ERAS),
                _limit_flaws(self.limit),
                choice_flaws("lifetime", self.lifetime, LIFETIMES),
                lifetime_flaws(lifetime=self.lifetime, stateless=self.stateless),
                told_flaws(kit=self.kit, lifetime=self.lifetime, headers=getattr(self.transport, "headers", None)),
                headers_command_flaws(
                    command=self.headers_command,
                    kind=getattr(self.transport, "kind", ""),
                    lifetime=self.lifetime,
                    kit=self.kit,
                ),
                _printed_flaws(self.headers_command, self.transport),
                idempotent_flaws(self.idempotent),
                _transport_flaws(self.transport, self.unavailable_reason),
                permission_flaws(self.permissions),
                raises_flaws(self.raises),
                trust_flaws(self.trust),
                ask_flaws(self.ask),
                vouched_flaws(self.vouched, has_twin=self.isolated is not None),
                twin_flaws(self.isolated),
                choice_flaws("twin", self.twin, TWINS),
                _sandbox_flaws(self.sandbox, self.transport),
            ),
        )
        object.__setattr__(self, "allow", None if self.allow is None else texts(self.allow))
        object.__setattr__(self, "block", texts(self.block))
        if self.headers_command is not None:
            object.__setattr__(self, "headers_command", texts(self.headers_command))
        object.__setattr__(self, "idempotent", texts(self.idempotent))
        object.__setattr__(self, "ask", texts(self.ask))
        object.__setattr__(self, "trust", frozenset(self.trust))
        object.__setattr__(self, "permissions", MappingProxyType(permission_map(self.permissions)))
        object.__setattr__(self, "raises", MappingProxyType(level_map(self.raises)))

    @property
    def tool_prefix(self) -> str:
        return self.name if self.prefix is None else self.prefix


def _printed_flaws(command: Any, transport: Any) -> Iterator[Flaw]:
    if command is not None and not isinstance(transport, RemoteTransport | NoTransport):
        yield Flaw(("headers_command",), "goes with a server that has an address")


def _sandbox_flaws(sandbox: Any, transport: Any) -> Iterator[Flaw]:
    if sandbox is not None and sandbox != NONE and not isinstance(sandbox, Sandbox):
        yield Flaw(("sandbox",), "must be a Sandbox of bascule.config, or none")
    elif sandbox is not None and not isinstance(transport, StdioTransport | NoTransport):
        yield Flaw(("sandbox",), "goes with a server that is a process, such as StdioTransport(command=…)")


def _limit_flaws(limit: Any) -> Iterator[Flaw]:
    if limit is not None and not isinstance(limit, Preset):
        yield Flaw(("limit",), "must be a preset, such as PRESETS['default'] of bascule.config")


def _transport_flaws(transport: Any, reason: ConfigError | None) -> Iterator[Flaw]:
    if not isinstance(transport, Transport):
        yield Flaw(("transport",), "must be one of bascule.config's transports, such as StdioTransport(command=…)")
    elif isinstance(transport, NoTransport) and reason is None:
        yield Flaw(("unavailable_reason",), "must say why there is no transport")


@dataclass(frozen=True, slots=True)
class RuntimeConfig:
    """All that was asked of one runtime."""

    servers: Mapping[str, ServerConfig]
    """Those that are connected to."""
    links_max: int = LINKS_MAX
    links_starting: int = LINKS_STARTING
    message_max: int = MESSAGE_MAX
    """Bytes."""
    store: str | None = field(default=None, repr=False)
    """Path or URL of the database, which may hold a password. None: a file in the state folder."""
    screen: Screen = "flag"
    """What becomes of tools with findings: shown as such, or kept from agents."""
    lock: Locking = "auto"
    """Whether tools must be as they were approved: where there is a lock file, always, or never."""
    search_above: int | None = None
    """The number of tools from which on an agent is given two that find and call them. None: it is always given all."""
    workspace_root: str | None = None
    """The folder in which every agent session has its own. None: one in the state folder."""
    workspace_quota: int = WORKSPACE_QUOTA
    audit_arguments: Audited = "shape"
    """How arguments are written down: by their shapes alone, or whole."""
    anchor_every: float = 60
    """Seconds after which the end of the audit log is kept in the store too."""
    kit_servers: Mapping[str, KitServer] = field(default_factory=dict[str, KitServer])
    """Servers of ours that are started here, by their names. Nobody connects to one because it stands here."""
    presets: Mapping[str, Preset] = field(default_factory=dict[str, Preset])
    """How much of a long result is shown, by name. Those that are always there are among them."""
    egress: Egress = field(default_factory=Egress)
    """Who may receive what is private."""
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    dashboard: DashboardSettings = field(default_factory=DashboardSettings)
    path: Path | None = None
    """The file this was read from."""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        described = chain(self.servers.items(), self.kit_servers.items())
        misnamed = [name for name, server in described if name != server.name]
        refuse(
            "RuntimeConfig",
            chain(
                runtime_flaws({field.name: getattr(self, field.name) for field in fields(self)}),
                presets_flaws(self.presets),
                choice_flaws("audit_arguments", self.audit_arguments, AUDITED),
                choice_flaws("screen", self.screen, SCREENS),
                choice_flaws("lock", self.lock, LOCKINGS),
                [Flaw(("servers", name), "stands under another name than its own") for name in misnamed],
            ),
        )
        object.__setattr__(self, "servers", MappingProxyType(dict(self.servers)))
        object.__setattr__(self, "kit_servers", MappingProxyType(dict(self.kit_servers)))
        object.__setattr__(self, "presets", preset_map(self.presets))
