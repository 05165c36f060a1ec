"""Prompt section with the tools of MCP servers: its connection, its tools, and the template that lists them."""

import getpass
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from threading import RLock
from typing import Any, Self, override

from weakincentives.prompt import Section, SectionVisibility, Tool
from weakincentives.resources import ResourceRegistry
from weakincentives.runtime.session import Session

from bascule.bridges.weakincentives.connections import McpConnection, McpConnectionPool, pool_of
from bascule.bridges.weakincentives.errors import McpConnectionError, McpSchemaError
from bascule.bridges.weakincentives.naming import lowered, one_line
from bascule.bridges.weakincentives.results import keep_as_log, tell_on
from bascule.bridges.weakincentives.shared_runtime import Visit, shared_by
from bascule.bridges.weakincentives.tools import GovernedTool, Stops, bridged
from bascule.config.model.runtime_config import ServerConfig
from bascule.config.model.transport import NativeTransport
from bascule.core.errors import BasculeError, ConnectFailed, UsageError
from bascule.core.outcome import Outcome
from bascule.core.principal import Principal
from bascule.core.request import OnProgress
from bascule.core.tool import ToolSpec
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers.status import ServerReport
from bascule.runtime.sync.runtime import SyncRuntime
from bascule.runtime.sync.session import SyncSession
from bascule.upstream.state import USABLE

DEFAULT = """
The following external tools are available via MCP:

${tools_by_server}
"""

VARIABLES = ("server_names", "tool_count", "tools_by_server")
"""What a template may name."""

EMPTY = "(no tools)"


def check_template(template: str) -> None:
    """Raises `UsageError` where it could never be filled in."""
    text = Template(template)
    # Not `get_identifiers`: it passes over a lone dollar sign.
    if not text.is_valid():
        raise UsageError("the template has a `$` that begins no name", fix="write `$$` for a dollar sign")
    unknown = sorted(set(text.get_identifiers()) - set(VARIABLES))
    if unknown:
        raise UsageError(
            f"the template names what is not there: {', '.join(unknown)}",
            fix=f"there are {', '.join(f'${{{name}}}' for name in VARIABLES)}",
        )


def filled_in(template: str, tools: Mapping[str, Mapping[str, ToolSpec]], depth: int) -> str:
    """A template with the tools of each server, by the names that the model calls them by."""
    values = {
        "server_names": ", ".join(tools),
        "tool_count": str(sum(map(len, tools.values()))),
        "tools_by_server": "\n\n".join(_server(name, under, depth) for name, under in tools.items()),
    }
    return Template(textwrap.dedent(template).strip()).substitute(values).strip()


def _server(name: str, tools: Mapping[str, ToolSpec], depth: int) -> str:
    # One deeper than the section's own heading.
    heading = f"{'#' * (depth + 3)} {name}"
    lines = [f"- `{called}` - {_described(spec)}" for called, spec in tools.items()]
    return "\n".join([heading, "", *(lines or [EMPTY])])


def _described(spec: ToolSpec) -> str:
    """The whole description: the one that goes with the tool may have been cut."""
    return one_line(spec.description or spec.title or spec.name)


Make = Callable[[str, ToolSpec], Tool[Any, Any]]
"""Makes a tool of this name. Raises `McpSchemaError` where that cannot be."""


class SectionTools:
    """The tools that a section has now. It is replaced as a whole: who looks at it meanwhile sees one listing or the
    other."""

    def __init__(
        self, made: Mapping[str, tuple[ToolSpec, Tool[Any, Any]]], refused: tuple[McpSchemaError, ...]
    ) -> None:
        self._made = made
        self.refused = refused
        self.all = tuple(tool for _, tool in made.values())

    def following(self, offered: Iterable[ToolSpec], make: Make) -> "SectionTools":
        """Those of another listing. What did not change stays the same tool. Raises `McpSchemaError` where two tools
        would have one name; others that cannot be made are left out, and told."""
        made: dict[str, tuple[ToolSpec, Tool[Any, Any]]] = {}
        refused: list[McpSchemaError] = []
        for name, spec in lowered(offered).items():
            kept = self._made.get(name)
            try:
                made[name] = kept if kept is not None and kept[0] == spec else (spec, make(name, spec))
            except McpSchemaError as error:
                refused.append(error)
        return SectionTools(made, tuple(refused))

    def spec(self, name: str) -> ToolSpec:
        return self._made[name][0]

    def by_server(self, servers: Iterable[str]) -> dict[str, dict[str, ToolSpec]]:
        """The tools of each server by name, also of those that have none."""
        found: dict[str, dict[str, ToolSpec]] = {server: {} for server in servers}
        for name, (spec, _) in self._made.items():
            found.setdefault(spec.key.server, {})[name] = spec
        return found


NO_TOOLS = SectionTools({}, ())


@dataclass(frozen=True, slots=True)
class McpIntegrationParams:
    """The section's parameters: it needs none."""


class McpIntegrationSection(Section[McpIntegrationParams]):
    """The tools of some servers, on behalf of one session.

    The servers are those given, or those of a `runtime`, which several sections may share; with both, the section has
    only those of the runtime that are given. Each session of the framework is an agent session of its own: by its id,
    and by `user_id`, or else the user of this machine.

    Connect it before it goes into a template: by `connect`, `connect_on_init`, or in a `with` block.
    """

    def __init__(  # noqa: PLR0913 -- each is a choice of its own, and is named where it is made
        self,
        *,
        servers: Sequence[ServerConfig] = (),
        session: Session,
        title: str = "MCP Integrations",
        key: str = "mcp.integrations",
        template: str | None = None,
        connect_on_init: bool = False,
        accepts_overrides: bool = False,
        runtime: Runtime | SyncRuntime | None = None,
        user_id: str | None = None,
    ) -> None:
        super().__init__(
            title=title, key=key, default_params=McpIntegrationParams(), accepts_overrides=accepts_overrides
        )
        self._template = DEFAULT if template is None else template
        check_template(self._template)
        self._given = tuple(servers)
        self._session = session
        self._shared = shared_by(self._given, runtime)
        self._principal = Principal(_this_user() if user_id is None else user_id, str(session.session_id))
        self._turn = RLock()
        self._visit: Visit | None = None
        self._connections: Mapping[str, McpConnection] = {}
        self._tools_now = NO_TOOLS
        self._stops = Stops()
        self._entered = 0
        if connect_on_init:
            self.connect()

    @property
    def session(self) -> Session:
        return self._session

    @property
    def agent_session(self) -> SyncSession:
        """What it is on our side: its level, its lane, its receipts. Raises `McpConnectionError` before `connect`."""
        return self._open().session

    @property
    def servers(self) -> Mapping[str, ServerConfig]:
        configured = self._shared.home.runtime.config.servers
        names = [server.name for server in self._given] or list(configured)
        return {name: configured[name] for name in names if name in configured}

    @property
    def connected(self) -> bool:
        """Whether all its servers can be used now."""
        visit = self._visit
        if visit is None or visit.over:
            return False
        return not _troubled(visit.session.servers(), self.servers)

    @property
    def refused(self) -> tuple[McpSchemaError, ...]:
        """The tools that cannot be tools of the framework, and why."""
        return self._tools_now.refused

    def connect(self, *, require_all: bool = True) -> None:
        """Link to all servers and list their tools. Connected already, it does nothing.

        Raises `McpConnectionError` if one of them cannot be reached, and none is connected then; without `require_all`,
        the others are.
        """
        with self._turn:
            if self._visit is not None and not self._visit.over:
                return
            # Somebody has closed the runtime for all.
            self.disconnect()
            visit = self._enter()
            try:
                self._take(visit, require_all=require_all)
            except BaseException:
                visit.leave()
                raise

    def disconnect(self) -> None:
        """Close its links; with the last section of a runtime, the runtime. A call that is under way ends its run."""
        # Without the turn: whoever has it may be waiting for the very call that this ends.
        visit, self._visit = self._visit, None
        pool_of(self._session).remove(self._connections)
        if visit is not None:
            visit.leave()

    def refresh(self) -> None:
        """See which tools there are now. Each rendering of the prompt does so; those of a run stay as they are."""
        with self._turn:
            self._adopt(self._open().session)

    @override
    def tools(self) -> tuple[Tool[Any, Any], ...]:
        """Its tools. Raises `McpConnectionError` before `connect`."""
        self._open()
        return self._tools_now.all

    def description(self, tool_name: str) -> str:
        """The whole description of one of its tools: the framework takes no more than 200 characters of it."""
        return self._tools_now.spec(tool_name).description

    @override
    def resources(self) -> ResourceRegistry:
        return ResourceRegistry.build({McpConnectionPool: pool_of(self._session)})

    @override
    def cleanup(self) -> None:
        """What the framework does after a run. In a `with` block, the block decides."""
        if not self._entered:
            self.disconnect()

    @override
    def clone(self, **kwargs: object) -> Self:
        """The same section for another session, on the same runtime; connected if this one is."""
        session = kwargs.get("session")
        if not isinstance(session, Session):
            raise TypeError("session is required to clone McpIntegrationSection")
        if kwargs.get("dispatcher") not in (None, session.dispatcher):
            raise TypeError("dispatcher must be the one of the session")
        return type(self)(
            servers=self._given,
            session=session,
            title=self.title,
            key=self.key,
            template=self._template,
            connect_on_init=self._visit is not None,
            accepts_overrides=self.accepts_overrides,
            runtime=self._shared.home,
            user_id=self._principal.user_id,
        )

    def __enter__(self) -> Self:
        self.connect()
        self._entered += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._entered -= 1
        if not self._entered:
            self.disconnect()

    @override
    def render(
        self,
        params: Any,
        depth: int,
        number: str,
        *,
        path: tuple[str, ...] = (),
        visibility: SectionVisibility | None = None,
    ) -> str:
        return self._rendered(self._template, depth, number, path)

    @override
    def render_body(
        self,
        params: Any,
        *,
        visibility: SectionVisibility | None = None,
        path: tuple[str, ...] = (),
        session: object = None,
    ) -> str:
        self.refresh()
        return self._filled_in(self._template, 0)

    @override
    def render_override(
        self, override_body: str, params: Any, depth: int, number: str, path: tuple[str, ...] = ()
    ) -> str:
        check_template(override_body)
        return self._rendered(override_body, depth, number, path)

    @override
    def original_body_template(self) -> str:
        """Without the tools: overrides of the section hold whatever tools there are."""
        return self._template

    def _rendered(self, template: str, depth: int, number: str, path: tuple[str, ...]) -> str:
        self.refresh()
        return f"{self.format_heading(depth, number, path)}\n\n{self._filled_in(template, depth)}"

    def _filled_in(self, template: str, depth: int) -> str:
        return filled_in(template, self._tools_now.by_server(self.servers), depth)

    def _enter(self) -> Visit:
        try:
            return self._shared.enter(self._principal)
        except UsageError:
            raise
        except BasculeError as error:
            # A `required` server, mostly, of which only the runtime knows.
            name = error.where if error.where in self.servers else next(iter(self.servers), "")
            raise self._unreachable(name, error) from error

    def _take(self, visit: Visit, *, require_all: bool) -> None:
        try:
            reports = visit.session.connect()
        except BasculeError as error:
            raise self._unreachable(error.where, error) from error
        troubled = _troubled(reports, self.servers)
        if troubled and (require_all or len(troubled) == len(self.servers)):
            first = troubled[0]
            error = first.error or ConnectFailed(first.reason or f"it is {first.state}")
            raise self._unreachable(first.name, error) from error
        self._adopt(visit.session)
        self._connections = {name: McpConnection(config, visit.session) for name, config in self.servers.items()}
        pool_of(self._session).add(self._connections)
        tell_on(self._session.dispatcher)
        self._visit = visit

    def _unreachable(self, name: str, error: BasculeError) -> McpConnectionError:
        config = self.servers.get(name)
        return McpConnectionError(
            f"{name}: {error.message}",
            server_name=name,
            transport=config.transport if config is not None else None,
            evidence=error.evidence,
            fix=error.fix,
        )

    def _adopt(self, session: SyncSession) -> None:
        if self._is_part:
            # Those that find others would find those of all servers.
            offered = [spec for spec in session.tools() if spec.key.server in self.servers]
        else:
            offered = session.offered()
        self._tools_now = self._tools_now.following(offered, self._tool)

    @property
    def _is_part(self) -> bool:
        """Whether it has only some servers of its runtime."""
        return len(self.servers) < len(self._shared.home.runtime.config.servers)

    def _is_mcp(self, server: str) -> bool:
        config = self.servers.get(server)
        return config is not None and not isinstance(config.transport, NativeTransport)

    def _tool(self, name: str, spec: ToolSpec) -> Tool[Any, Any]:
        governed = GovernedTool(spec, self._session, self._call, self._stops, self._is_mcp)
        made = bridged(name, spec, governed, accepts_overrides=self.accepts_overrides)
        keep_as_log(self._session, governed.result_type)
        return made

    def _call(
        self, spec: ToolSpec, arguments: dict[str, Any], left: float | None, on_progress: OnProgress | None
    ) -> Outcome:
        timeout = None if left is None else self._timeout(spec, left)
        return self._open().session.call(spec.name, arguments, timeout=timeout, on_progress=on_progress)

    def _timeout(self, spec: ToolSpec, left: float) -> float | None:
        """What bounds a call beside the server's own limit: the end of the run, where that comes first."""
        config = self.servers.get(spec.key.server)
        return None if config is not None and left >= config.timeouts.call else left

    def _open(self) -> Visit:
        visit = self._visit
        if visit is None or visit.over:
            name, config = next(iter(self.servers.items()), ("", None))
            raise McpConnectionError(
                "the section is not connected",
                server_name=name,
                transport=config.transport if config is not None else None,
                fix="call connect() first, or use it in a `with` block",
            )
        return visit


def _troubled(reports: Sequence[ServerReport], servers: Mapping[str, ServerConfig]) -> list[ServerReport]:
    """Those of its servers that cannot be used now."""
    return [report for report in reports if report.name in servers and not _usable(report, servers[report.name])]


def _usable(report: ServerReport, config: ServerConfig) -> bool:
    # One that is linked to for each call has no link in between.
    return report.error is None and (report.state in USABLE or config.lifetime == "call")


def _this_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError("this machine has no name for its user", evidence=str(error), fix="pass user_id=…") from error
