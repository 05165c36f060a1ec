"""Transport settings of a server, as plain values; `bascule.transports` opens the connections."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, Literal

from bascule.config.secret import Secret, conceal_all, reveal_all
from bascule.config.urls import secrets_in_url, shown_url, socket_and_path
from bascule.config.validation import (
    choice_flaws,
    container_flaws,
    credential_flaws,
    http_flaws,
    items,
    refuse,
    stdio_flaws,
    texts,
    unix_flaws,
    ws_flaws,
)

HTTP_CHOICES = ("auto", "http")

_no_values = dict[str, Secret | str]


@dataclass(frozen=True, slots=True)
class StdioTransport:
    """A child process that speaks on its standard input and output. Values of `env` become `Secret`s."""

    kind: ClassVar[str] = "stdio"

    command: str
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: Mapping[str, Secret | str] = field(default_factory=_no_values)
    inherit_env: tuple[str, ...] = ()
    """Names or globs of our own variables that may pass to the child."""

    def __post_init__(self) -> None:
        flaws = stdio_flaws(
            command=self.command, args=self.args, cwd=self.cwd, env=self.env, inherit_env=self.inherit_env
        )
        refuse("StdioTransport", chain(flaws, credential_flaws(items(self.args) or ())))
        _settle(self, args=texts(self.args), env=conceal_all(self.env), inherit_env=texts(self.inherit_env))


@dataclass(frozen=True, slots=True)
class ContainerTransport:
    """A process more in a container that already runs, spoken to as a child process is. Values of `env` become
    `Secret`s; they are added to the container's own variables, and nothing of ours is unless `inherit_env` names it."""

    kind: ClassVar[str] = "docker exec"

    container: str
    command: str
    args: tuple[str, ...] = ()
    cwd: str | None = None
    """A folder in the container."""
    env: Mapping[str, Secret | str] = field(default_factory=_no_values)
    inherit_env: tuple[str, ...] = ()
    """Names or globs of our own variables that may pass."""

    def __post_init__(self) -> None:
        flaws = stdio_flaws(
            command=self.command, args=self.args, cwd=self.cwd, env=self.env, inherit_env=self.inherit_env
        )
        found = chain(container_flaws(self.container), flaws, credential_flaws(items(self.args) or ()))
        refuse("ContainerTransport", found)
        _settle(self, args=texts(self.args), env=conceal_all(self.env), inherit_env=texts(self.inherit_env))


@dataclass(frozen=True, slots=True)
class StreamableHttpTransport:
    """A remote server at one address. With `auto`, older ways to speak HTTP may be tried. Headers become `Secret`s."""

    kind: ClassVar[str] = "http"

    url: str
    headers: Mapping[str, Secret | str] = field(default_factory=_no_values)
    choice: Literal["auto", "http"] = "auto"

    def __post_init__(self) -> None:
        flaws = http_flaws(url=self.url, headers=self.headers)
        refuse("StreamableHttpTransport", chain(flaws, choice_flaws("choice", self.choice, HTTP_CHOICES)))
        _settle(self, headers=conceal_all(self.headers))

    def __repr__(self) -> str:
        url, headers = shown_url(self.url), dict(self.headers)
        return f"StreamableHttpTransport(url={url!r}, headers={headers!r}, choice={self.choice!r})"


@dataclass(frozen=True, slots=True)
class SseTransport:
    """A remote server that still speaks HTTP+SSE. Headers become `Secret`s."""

    kind: ClassVar[str] = "sse"

    url: str
    headers: Mapping[str, Secret | str] = field(default_factory=_no_values)

    def __post_init__(self) -> None:
        refuse("SseTransport", http_flaws(url=self.url, headers=self.headers))
        _settle(self, headers=conceal_all(self.headers))

    def __repr__(self) -> str:
        return f"SseTransport(url={shown_url(self.url)!r}, headers={dict(self.headers)!r})"


@dataclass(frozen=True, slots=True)
class WebSocketTransport:
    """A remote server that speaks over a WebSocket. Headers become `Secret`s; they go with the opening request."""

    kind: ClassVar[str] = "ws"

    url: str
    headers: Mapping[str, Secret | str] = field(default_factory=_no_values)

    def __post_init__(self) -> None:
        refuse("WebSocketTransport", ws_flaws(url=self.url, headers=self.headers))
        _settle(self, headers=conceal_all(self.headers))

    def __repr__(self) -> str:
        return f"WebSocketTransport(url={shown_url(self.url)!r}, headers={dict(self.headers)!r})"


@dataclass(frozen=True, slots=True)
class UnixSocketTransport:
    """A server on this machine that speaks streamable HTTP over a socket file. Headers become `Secret`s.

    The address is `unix:///path/to.sock`, or `unix:///path/to.sock:/x` where the HTTP path is `/x` and not `/mcp`. A
    colon before a slash in the name of the file itself is written `%3A`.
    """

    kind: ClassVar[str] = "unix"

    url: str
    headers: Mapping[str, Secret | str] = field(default_factory=_no_values)

    def __post_init__(self) -> None:
        refuse("UnixSocketTransport", unix_flaws(url=self.url, headers=self.headers))
        _settle(self, headers=conceal_all(self.headers))

    def __repr__(self) -> str:
        return f"UnixSocketTransport(url={shown_url(self.url)!r}, headers={dict(self.headers)!r})"

    @property
    def socket(self) -> str:
        return socket_and_path(self.url)[0]

    @property
    def path(self) -> str:
        """What is asked for over the socket."""
        return socket_and_path(self.url)[1]


@dataclass(frozen=True, slots=True)
class InProcessTransport:
    """A server object that lives in this process. It can only be given in code, never in a file."""

    kind: ClassVar[str] = "memory"

    server: Any


@dataclass(frozen=True, slots=True)
class NativeTransport:
    """Functions of this program. They can only be given in code: see `native_server` of `bascule`."""

    kind: ClassVar[str] = "native"

    tools: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class NoTransport:
    """No way to reach the server, because its description could not be completed. `kind` is what it would have been.

    There is nothing in here to connect to, so a refused server cannot be started by mistake.
    """

    kind: str


RemoteTransport = StreamableHttpTransport | SseTransport | WebSocketTransport | UnixSocketTransport
"""Those that have an address, and headers to show there."""

Transport = StdioTransport | ContainerTransport | RemoteTransport | InProcessTransport | NativeTransport | NoTransport


def secrets_of(transport: Transport) -> tuple[str, ...]:
    """Every text that may not be shown, revealed for whoever has to look for it."""
    if isinstance(transport, StdioTransport | ContainerTransport):
        return tuple(reveal_all(transport.env).values())
    if isinstance(transport, RemoteTransport):
        return (*reveal_all(transport.headers).values(), *secrets_in_url(transport.url))
    return ()


def _settle(transport: Any, **fields: Any) -> None:
    """Put the final form of fields into a frozen value, from within its own making."""
    for name, value in fields.items():
        object.__setattr__(transport, name, value)
