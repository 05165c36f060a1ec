"""Connections of a session to its MCP servers, for tool handlers: governed tool calls, resources and prompts."""

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from weakincentives.runtime.session import Session

from bascule.bridges.weakincentives.errors import McpConnectionError, McpSchemaError, error_of
from bascule.config.model.runtime_config import ServerConfig
from bascule.core.outcome import PromptResult, ResourceResult, ToolFailure, ToolResult
from bascule.core.prompt import PromptSpec
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolSpec
from bascule.runtime.sync.session import SyncSession

T = TypeVar("T")


class McpConnection:
    """One server, as one session reaches it. What fails raises one of the `McpError` family; what must end the run
    raises `McpRunStopped`."""

    def __init__(self, config: ServerConfig, session: SyncSession) -> None:
        self._config = config
        self._session = session
        self._names: dict[str, str] = {}

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def config(self) -> ServerConfig:
        return self._config

    def tools(self) -> tuple[ToolSpec, ...]:
        return tuple(spec for spec in self._session.tools() if spec.key.server == self.name)

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> ToolResult:
        """Call a tool, by the server's own name for it or by the one that agents use."""
        outcome = self._session.call(self._exposed(tool), arguments, timeout=timeout)
        return self._result(outcome, tool, timeout)

    def resources(self, *, refresh: bool = False) -> tuple[ResourceSpec, ...]:
        return tuple(spec for spec in self._session.resources(refresh=refresh) if spec.server == self.name)

    def read(self, uri: str, *, timeout: float | None = None) -> ResourceResult:
        return self._result(self._session.read(uri, server=self.name, timeout=timeout), uri, timeout)

    def prompts(self, *, refresh: bool = False) -> tuple[PromptSpec, ...]:
        return tuple(spec for spec in self._session.prompts(refresh=refresh) if spec.key.server == self.name)

    def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float | None = None
    ) -> PromptResult:
        """Fill in a prompt, by the server's own name for it or by the one that agents use."""
        known = {spec.key.tool: spec.name for spec in self.prompts()}
        return self._result(self._session.prompt(known.get(name, name), arguments, timeout=timeout), name, timeout)

    def _exposed(self, tool: str) -> str:
        """The name that agents use. Raises `McpSchemaError` for a tool that cannot be used. One of another server is
        never called, whatever it is called."""
        if tool not in self._names:
            specs = self.tools()
            self._names = {spec.name: spec.name for spec in specs} | {spec.key.tool: spec.name for spec in specs}
        if tool not in self._names:
            raise McpSchemaError(
                f"{self.name} has no tool {tool!r} that can be used",
                server_name=self.name,
                tool_name=tool,
                reason="it is not among the tools that the session sees",
                fix="`bascule inspect` shows every tool, and why some cannot be used",
            )
        return self._names[tool]

    def _result(self, outcome: T | ToolFailure, about: str, timeout: float | None) -> T:
        if isinstance(outcome, ToolFailure):
            raise error_of(outcome, about, self._config, timeout)
        return outcome


class McpConnectionPool:
    """The connected servers of one session, of all its sections together. A handler finds it among the resources of its
    context."""

    def __init__(self) -> None:
        self._connections: dict[str, McpConnection] = {}
        self._turn = Lock()

    def get(self, name: str) -> McpConnection:
        """Raises `McpConnectionError` where no section has connected to a server of this name."""
        found = self._connections.get(name)
        if found is None:
            raise McpConnectionError(
                f"no server {name!r} is connected",
                server_name=name,
                evidence=f"connected: {', '.join(self) or 'none'}",
                fix="connect the section that names it first",
            )
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._connections

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._connections))

    def __len__(self) -> int:
        return len(self._connections)

    def __bool__(self) -> bool:
        """It is there, whatever is in it."""
        return True

    def add(self, connections: Mapping[str, McpConnection]) -> None:
        with self._turn:
            self._connections |= connections

    def remove(self, connections: Mapping[str, McpConnection]) -> None:
        """Those that nobody has connected to since."""
        with self._turn:
            for name, connection in connections.items():
                if self._connections.get(name) is connection:
                    del self._connections[name]


_POOLS: WeakKeyDictionary[Session, McpConnectionPool] = WeakKeyDictionary()
_TURN = Lock()


def pool_of(session: Session) -> McpConnectionPool:
    """One for each session: of two in one prompt, its handlers would find only one."""
    with _TURN:
        return _POOLS.setdefault(session, McpConnectionPool())
