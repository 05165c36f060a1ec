"""Bridge for synchronous programs without a framework: a gateway that lists and calls governed tools.
`load_for_agent(name)` builds one from the environment of an agent."""

import copy
import os
import re
import secrets
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

from bascule.config import RuntimeConfig, ServerConfig, load_agent_mcp_configs
from bascule.core.errors import ConnectFailed, UnknownTool, UsageError
from bascule.core.events import Sink
from bascule.core.failure_action import Reaction, reaction, stopped, told
from bascule.core.json_types import is_object
from bascule.core.outcome import FailureKind, Outcome, ToolFailure
from bascule.core.request import OnProgress
from bascule.core.tool import ToolKey, ToolSpec
from bascule.runtime.failures import failure_of
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from bascule.runtime.sync.runtime import Hold, SyncRuntime
from bascule.runtime.sync.session import SyncSession

LOCAL = "local"
"""The user on whose behalf a gateway acts that is not told of another."""

MOST_NAMES = 100_000
"""Names that a gateway remembers, also of tools that are gone. A server that lists others every time must not fill
memory; what comes after that is not listed."""

_FOR_MODELS = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every model API takes as a name."""

_SHOWN = ("content", "structuredContent")

Servers = str | Path | Runtime | SyncRuntime | Iterable[ServerConfig]


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool as a model is told of it. Call it by this name."""

    name: str
    description: str | None = None
    input_schema: dict[str, Any] = field(default_factory=dict[str, Any])


class Reply(dict[str, Any]):
    """What came of a call: `content`, `structuredContent` where there is any, and `isError`, as MCP has them."""

    outcome: Outcome
    """All that is known of it: its server, its lane, how long each step took; of a failure, its kind and its fix."""

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        if isinstance(outcome, ToolFailure):
            made = cls(content=[{"type": "text", "text": told(outcome)}], isError=True)
            if outcome.kind is FailureKind.TOOL_ERROR and is_object(outcome.cause):
                made["structuredContent"] = outcome.cause
        else:
            made = cls({key: outcome.raw[key] for key in _SHOWN if key in outcome.raw}, isError=False)
            made.setdefault("content", [])
        made.outcome = outcome
        return made

    @property
    def text(self) -> str:
        """In words for a model. Pictures are named there, and shown in `content`."""
        return told(self.outcome) if isinstance(self.outcome, ToolFailure) else self.outcome.text


class Names:
    """Which tool each name means: the server's own name where no other tool has it, else the one with the prefix.

    A name that was once given to a tool is never another's, whatever tools come and go: whoever holds an older list
    must not call something else by it.
    """

    def __init__(self) -> None:
        self._keys: dict[str, ToolKey] = {}
        self._names: dict[ToolKey, str] = {}

    def follow(self, specs: Sequence[ToolSpec]) -> None:
        """Name those that have no name yet."""
        owners = Counter(name for spec in specs for name in {spec.key.tool, spec.name})
        for spec in specs:
            if spec.key not in self._names and len(self._keys) < MOST_NAMES:
                self._give(spec, owners)
        for spec in specs if len(self._keys) < MOST_NAMES else ():
            # The full one is understood as well.
            self._keys.setdefault(spec.name, spec.key)

    def of(self, key: ToolKey) -> str | None:
        return self._names.get(key)

    def meant(self, name: str) -> ToolKey | None:
        return self._keys.get(name)

    def _give(self, spec: ToolSpec, owners: Mapping[str, int]) -> None:
        own = spec.key.tool
        unique = owners[own] == 1 and _FOR_MODELS.fullmatch(own) is not None
        for name in (own, spec.name) if unique else (spec.name,):
            if self._keys.get(name, spec.key) == spec.key:
                self._keys[name] = spec.key
                self._names[spec.key] = name
                return


class MCPToolGateway:
    """The tools of some servers, for one agent session. `start` it, or use it in a `with` block; any thread may call.

    `servers` is a config file, a runtime that is not running, one that is shared (`SyncRuntime`), or server configs.
    Who gives no ids acts for the user `local`, in an agent session that this process has to itself. Closed and started
    again it is the same agent session still, as private as it has become.
    """

    def __init__(self, servers: Servers, *, user_id: str = LOCAL, session_id: str | None = None) -> None:
        self._shared = servers if isinstance(servers, SyncRuntime) else SyncRuntime(_runtime(servers), name="gateway")
        self._own = self._shared is not servers
        self._who = (user_id, session_id if session_id is not None else own_session(os.getpid()))
        self._turn = threading.RLock()
        self._hold: Hold | None = None
        self._session: SyncSession | None = None
        self._names = Names()
        self._exposed: dict[ToolKey, str] = {}
        """The full names when they were last looked at."""
        self._sure: dict[str, str] = {}
        """Names that surely mean what they did, by the full name, while the version is this."""
        self._version = -1

    def start(self) -> None:
        """Link to every server. Raises for a `required` one that cannot be used, and then nothing is left running; of
        the others, those that can be used serve. Starting again does nothing."""
        with self._turn:
            if self._session is not None and self._hold is not None and not self._hold.closing:
                return
            self._session = None
            self._hold = hold = self._shared.acquire()
            # Another stay of the runtime counts its versions from the beginning.
            self._version = -1
            try:
                hold.run(lambda runtime: self._look(runtime.session(*self._who)))
                self._session = hold.session(*self._who)
            finally:
                if self._session is None:
                    self._let_go()

    def list_tools(self) -> list[ToolInfo]:
        """The tools that can be called now. They follow what servers change."""
        specs = self.session.do(self._look)
        named = [(self._names.of(spec.key), spec) for spec in specs]
        return [_info(name, spec) for name, spec in named if name is not None]

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        *,
        on_progress: OnProgress | None = None,
    ) -> Reply:
        """Call a tool, and wait for what comes of it. A failure that a model can be shown is a reply with `isError`.

        Raises `RunStopped` for one that ends a run: a fatal error, or `close` by another thread meanwhile. Interrupted
        by Ctrl-C, it raises `KeyboardInterrupt`. Either way the server is told.
        """
        outcome = self.session.request(name, lambda session: self._call(session, name, arguments, timeout, on_progress))
        if isinstance(outcome, ToolFailure) and reaction(outcome) is Reaction.STOP:
            raise stopped(outcome)
        return Reply.of(outcome)

    def close(self) -> None:
        """End what it started, also while it starts. Calls that are being made are cancelled. Closing again does
        nothing."""
        self._let_go()
        with self._turn:
            self._let_go()
            self._session = None

    @property
    def session(self) -> SyncSession:
        """Its agent session: level, lane and receipts, resources and prompts."""
        session, hold = self._session, self._hold
        if session is None or hold is None or hold.closing:
            raise UsageError("the gateway is not running", fix="call `start()` first, or use it in a `with` block")
        return session

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _let_go(self) -> None:
        hold = self._hold
        if self._own:
            # Nobody else has it.
            self._shared.close()
        elif hold is not None:
            hold.release()

    async def _look(self, session: AgentSession) -> Sequence[ToolSpec]:
        """What it is given now, each with a name."""
        specs = await session.offered()
        self._names.follow(specs)
        self._exposed |= {spec.key: spec.name for spec in specs}
        if self._version != session.version:
            self._sure.clear()
            self._version = session.version
        return specs

    async def _call(
        self,
        session: AgentSession,
        name: str,
        arguments: Mapping[str, Any] | None,
        timeout: float | None,
        on_progress: OnProgress | None,
    ) -> Outcome:
        exposed = self._sure.get(name) if self._version == session.version else None
        if exposed is None:
            exposed = await self._resolve(session, name)
        if isinstance(exposed, ToolFailure):
            return exposed
        return await session.call(exposed, arguments, timeout=timeout, on_progress=on_progress)

    async def _resolve(self, session: AgentSession, name: str) -> str | ToolFailure:
        """The full name of the tool that is meant. Nothing must be awaited between this and the call: what servers list
        can change, and full names with it."""
        if self._version != session.version or self._names.meant(name) is None:
            await self._look(session)
        key = self._names.meant(name)
        if key is None:
            # Nothing that was ever listed. The agent session tells what is nearest.
            return name
        exposed = self._exposed[key]
        found = await session.find(exposed)
        if found is not None and found.key != key:
            gone = UnknownTool(f"{name[:80]!r} is no longer there: it meant {key}", fix="list the tools again")
            return failure_of(gone, key.server, key.tool, session.lane, {})
        if self._version == session.version:
            self._sure[name] = exposed
        return exposed


def load_for_agent(
    name: str, *, user_id: str | None = None, session_id: str | None = None, sinks: Iterable[Sink] = ()
) -> MCPToolGateway | None:
    """A started gateway to the servers that `AGENT_<name>_MCP_<N>_…` describe, or None where there are none.

    All of them or nothing: one that cannot be used raises `ConnectFailed`, which says which, and the others are
    stopped. Who gives no ids acts as `agent:<name>`, in an agent session that this process has to itself: whatever
    loads the same agent here shares how private it has become, and no other process does.
    """
    servers = {server.name: replace(server, required=True) for server in load_agent_mcp_configs(name)}
    if not servers:
        return None
    # Proved by starting them for the agent session itself; doing it before as well would start each twice.
    runtime = Runtime(RuntimeConfig(servers=servers), sinks=sinks, prove_required=False)
    who = user_id if user_id is not None else f"agent:{name}"
    gateway = MCPToolGateway(runtime, user_id=who, session_id=session_id)
    try:
        gateway.start()
    except ConnectFailed as error:
        failed = servers.get(error.where)
        if failed is None:
            raise
        raise type(error)(
            f"{failed.location}: {error.message}",
            where=error.where,
            evidence=error.evidence,
            cause=error.cause,
            fix=error.fix,
        ) from error
    return gateway


@cache
def own_session(pid: int) -> str:
    """An id that no other process has, and that this one keeps. One that was forked off is another."""
    return f"process-{pid}-{secrets.token_hex(8)}"


def _runtime(servers: str | Path | Runtime | Iterable[ServerConfig]) -> Runtime:
    if isinstance(servers, Runtime):
        return servers
    if isinstance(servers, str | Path):
        return Runtime.from_file(servers)
    configs = list(servers)
    named = {config.name: config for config in configs}
    if len(named) != len(configs):
        raise UsageError("two servers have the same name", fix="give each config a name of its own")
    return Runtime.from_servers(named)


def _info(name: str, spec: ToolSpec) -> ToolInfo:
    # A copy: what a program does to it must not reach the catalog.
    return ToolInfo(name, spec.description or None, copy.deepcopy(dict(spec.plain_schema)))
