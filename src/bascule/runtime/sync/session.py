"""Blocking facade of an agent session, for callers without an event loop."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from bascule.core.outcome import CompletionResult, FailureKind, Outcome, PromptResult, ResourceResult, ToolFailure
from bascule.core.principal import Principal
from bascule.core.prompt import PromptSpec
from bascule.core.receipt import Receipt
from bascule.core.request import OnProgress
from bascule.core.resource import ResourceSpec
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolSpec
from bascule.runtime.failures import ABORTED
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers.status import ServerReport
from bascule.runtime.session import AgentSession

T = TypeVar("T")


class Residence(Protocol):
    """Where the runtime lives."""

    @property
    def closing(self) -> bool: ...

    def run(self, work: Callable[[Runtime], Coroutine[Any, Any, T]]) -> T: ...


class SyncSession:
    """One agent session. Every method waits; any thread may call, several at once.

    A request that is under way when the runtime is closed ends as `aborted`. One whose thread is interrupted raises
    what interrupted it, and is cancelled at the server. Without a runtime that runs, everything raises `UsageError`.
    """

    def __init__(self, residence: Residence, user_id: str, session_id: str) -> None:
        self._residence = residence
        self._principal = Principal(user_id, session_id)

    @property
    def principal(self) -> Principal:
        return self._principal

    @property
    def sensitivity(self) -> DataSensitivity:
        """How private it has become."""
        return self._look(lambda session: session.sensitivity)

    @property
    def lane(self) -> Lane:
        return self._look(lambda session: session.lane)

    @property
    def ended(self) -> bool:
        """Whether an operator has ended it."""
        return self._look(lambda session: session.ended)

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """What has changed its level, and what was done about each change."""
        return self._look(lambda session: session.receipts)

    @property
    def datasets(self) -> Mapping[str, DataSensitivity]:
        """The private datasets it has seen."""
        return self._look(lambda session: session.datasets)

    def add_private_dataset(self, name: str, sensitivity: DataSensitivity) -> None:
        """Say that it has seen a private dataset, and raise it to that level."""
        self.do(lambda session: session.add_private_dataset(name, sensitivity))

    def connect(self) -> tuple[ServerReport, ...]:
        """Link to every server not tried yet, and tell how each stands."""
        return self.do(lambda session: session.connect())

    def servers(self) -> tuple[ServerReport, ...]:
        """How each server stands."""
        return self._look(lambda session: session.servers())

    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that can be called, of all servers that can be reached."""
        return self.do(lambda session: session.tools())

    def offered(self) -> tuple[ToolSpec, ...]:
        """The tools that an agent is given. Doors to agents show these."""
        return self.do(lambda session: session.offered())

    def resources(self, *, refresh: bool = False) -> tuple[ResourceSpec, ...]:
        """The resources, and templates of such, of all servers that can be reached."""
        return self.do(lambda session: session.resources(refresh=refresh))

    def prompts(self, *, refresh: bool = False) -> tuple[PromptSpec, ...]:
        """The prompts of all servers that can be reached."""
        return self.do(lambda session: session.prompts(refresh=refresh))

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Outcome:
        """Call a tool by its exposed name. Every failure of the tool, its server or the rules is an outcome.
        `on_progress` is told in the runtime's thread, and must not wait for it."""
        return self.request(
            name, lambda session: session.call(name, arguments, timeout=timeout, on_progress=on_progress)
        )

    def read(
        self, uri: str, *, server: str | None = None, timeout: float | None = None
    ) -> ResourceResult | ToolFailure:
        """Read a resource."""
        return self.request(uri, lambda session: session.read(uri, server=server, timeout=timeout))

    def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float | None = None
    ) -> PromptResult | ToolFailure:
        """Fill in a prompt by its exposed name."""
        return self.request(name, lambda session: session.prompt(name, arguments, timeout=timeout))

    def complete(
        self,
        ref: str | PromptSpec | ResourceSpec,
        argument: str,
        value: str,
        context: Mapping[str, str] | None = None,
    ) -> CompletionResult | ToolFailure:
        """What the beginning of an argument could become."""
        return self.request(str(ref), lambda session: session.complete(ref, argument, value, context))

    def close(self) -> None:
        """Close this agent session's links. Calling again opens new ones."""
        self.do(lambda session: session.close())

    def do(self, work: Callable[[AgentSession], Coroutine[Any, Any, T]]) -> T:
        """Do something with the agent session, in its thread, and wait for what comes of it."""
        return self._residence.run(lambda runtime: work(self._in(runtime)))

    def _look(self, what: Callable[[AgentSession], T]) -> T:
        async def look(session: AgentSession) -> T:
            await session.begin()
            return what(session)

        return self.do(look)

    def request(
        self, name: str, work: Callable[[AgentSession], Coroutine[Any, Any, T | ToolFailure]]
    ) -> T | ToolFailure:
        """Make a request of any kind. One that is cut short because the runtime closes is an outcome."""

        async def requested(runtime: Runtime) -> T | ToolFailure:
            session = self._in(runtime)
            try:
                return await work(session)
            except asyncio.CancelledError:
                if not self._residence.closing:
                    raise
                message = "the runtime was closed while this was under way"
                return ToolFailure(FailureKind.ABORTED, ABORTED, message, tool=name, lane=session.lane)

        return self._residence.run(requested)

    def _in(self, runtime: Runtime) -> AgentSession:
        """Asked for each time: another stay of the runtime has another one."""
        return runtime.session(self._principal.user_id, self._principal.session_id)
