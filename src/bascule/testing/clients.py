"""In-memory test client: calls a server under test in this process for a principal, through a real runtime and the
production path. The config of that server trusts its author in everything."""

import os
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from bascule.config import InProcessTransport, RuntimeConfig, ServerConfig
from bascule.config.names import fold_name
from bascule.core.outcome import Outcome, ToolFailure, ToolResult
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolSpec
from bascule.kit.permission import read_permissions
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from bascule.testing.calls import Calls
from bascule.workspace.workspace import Workspace

if TYPE_CHECKING:
    from bascule.kit.server import GovernedServer

TRUST = frozenset({"permissions", "labels", "fatal"})


async def trusting_config(name: str, server: Any, rules: dict[str, Any]) -> ServerConfig:
    """The config of a server under test, with full trust in its author. `rules` are keys of `ServerConfig`, and take
    precedence."""
    if isinstance(server, ServerConfig):
        return server
    said: dict[str, Any] = {"vouched": DataSensitivity.SECRET, "trust": TRUST}
    if is_kit_server(server):
        said |= {"kit": True, "permissions": await _declared(server)}
    return ServerConfig(name=name, transport=InProcessTransport(server), **{**said, **rules})


def name_of(server: Any) -> str:
    """What a server calls itself, as a name of ours."""
    given = getattr(server, "name", None)
    return fold_name(given) if isinstance(given, str) and given else "server"


def is_kit_server(server: Any) -> "TypeGuard[GovernedServer]":
    try:
        from bascule.kit.server import GovernedServer  # noqa: PLC0415 -- FastMCP takes a second, and is an extra
    except ModuleNotFoundError as error:
        if error.name != "fastmcp":
            raise
        return False
    return isinstance(server, GovernedServer)


async def _declared(server: "GovernedServer") -> dict[str, frozenset[Permission]]:
    """What its tools say that they do. A runtime believes an operator only, so it is put into the operator's mouth."""
    tools = await server.list_tools(run_middleware=False)
    return {tool.name: read_permissions(tool.meta) or frozenset() for tool in tools}


USER = "tester"
SESSION = "test"

VARIABLE = "BASCULE_HOME"


class Client:
    """One principal, at the servers under test."""

    def __init__(self, runtime: Runtime, calls: Calls, user: str, session: str) -> None:
        self.runtime = runtime
        self.calls = calls
        """What was called, by this and by every other principal of the same runtime."""
        self._session = runtime.session(user, session)
        calls.watch(self._session)

    @property
    def session(self) -> AgentSession:
        """What an agent is given. Its calls are recorded."""
        return self._session

    @property
    def workspace(self) -> Workspace:
        return self._session.workspace

    @property
    def sensitivity(self) -> DataSensitivity:
        return self._session.sensitivity

    @property
    def lane(self) -> Lane:
        return self._session.lane

    def of(self, user: str, session: str = SESSION) -> "Client":
        """The same servers, on behalf of somebody else."""
        return Client(self.runtime, self.calls, user, session)

    async def tools(self) -> dict[str, ToolSpec]:
        """By their names."""
        return {spec.name: spec for spec in await self._session.tools()}

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Outcome:
        return await self._session.call(tool, arguments)

    async def result(self, tool: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """What a call gives that has to go well. Fails if it does not."""
        outcome = await self.call(tool, arguments)
        if not isinstance(outcome, ToolResult):
            raise AssertionError(  # noqa: TRY004 -- a test fails by it
                f"{tool} failed: {outcome.kind} {outcome.code}: {outcome.message}"
            )
        return outcome

    async def failure(self, tool: str, arguments: Mapping[str, Any] | None = None) -> ToolFailure:
        """Why a call fails that has to. Fails if it goes well."""
        outcome = await self.call(tool, arguments)
        if not isinstance(outcome, ToolFailure):
            raise AssertionError(  # noqa: TRY004 -- the same
                f"{tool} did not fail, and gave {outcome.text[:500]}"
            )
        return outcome


@asynccontextmanager
async def client(
    server: Any,
    *,
    user: str = USER,
    session: str = SESSION,
    home: Path | str | None = None,
    calls: Calls | None = None,
    **rules: Any,
) -> AsyncGenerator[Client]:
    """A client of this server object, whose tools go by their own names; or of several, `{"name": server}`, whose tools
    have the name before theirs, as in a config.

    All state is in `home`, or in a folder that is gone afterwards; nobody's own is read or written. `rules` are keys of
    `ServerConfig` (`trust`, `permissions`, `raises`, …). Without them the server is believed in everything, and vouched
    for: once an agent session is private, what may connect is refused and the rest goes on, as with a twin.
    """
    servers = cast("Mapping[str, Any]", server)
    if not isinstance(server, Mapping):
        servers, rules = {name_of(server): server}, {"prefix": "", **rules}
    async with AsyncExitStack() as stack:
        made = stack.enter_context(TemporaryDirectory(prefix="bascule-test-")) if home is None else home
        folder = _whole(made)
        stack.enter_context(_BORROWED.lend(folder))
        configs: dict[str, ServerConfig] = {}
        for name, each in servers.items():
            if is_kit_server(each):
                stack.enter_context(each.home.elsewhere(folder))
            configs[name] = await trusting_config(name, each, rules)
        # A lock file that happens to lie in the folder of the tests is not about these servers.
        runtime = await stack.enter_async_context(Runtime(RuntimeConfig(servers=configs, lock="off")))
        yield Client(runtime, calls if calls is not None else Calls(), user, session)


def _whole(path: Path | str) -> Path:
    """Said from the root on: a test may move to another folder meanwhile."""
    return Path(path).absolute()


class _Borrowed:
    """The variable that names the state folder, as long as clients are open. They need not close in turn: the last one
    to close puts back what was there before the first."""

    def __init__(self) -> None:
        self._folders: list[str] = []
        self._before: str | None = None

    @contextmanager
    def lend(self, folder: Path) -> Generator[None]:
        """What asks for the state folder is told this one, the server's own code and what it starts included."""
        if not self._folders:
            self._before = os.environ.get(VARIABLE)
        self._folders.append(str(folder))
        os.environ[VARIABLE] = str(folder)
        try:
            yield
        finally:
            self._folders.remove(str(folder))
            self._put_back()

    def _put_back(self) -> None:
        named = self._folders[-1] if self._folders else self._before
        if named is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = named


_BORROWED = _Borrowed()
