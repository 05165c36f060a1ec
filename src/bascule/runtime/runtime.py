"""Runtime: opens agent sessions on the servers of one config."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bascule.config import RuntimeConfig, ServerConfig, load_agent_mcp_configs, load_file
from bascule.config.secrets_in import secrets_in
from bascule.config.state_dir import state_folder, surroundings
from bascule.core.client_features import OnAsk, OnElicit, OnSample, Respondent
from bascule.core.errors import UsageError
from bascule.core.events import ConfigApplied, Sink, WorkspacesMarked
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.core.text.redaction import Mask
from bascule.identity.oauth.redirect import OnLogin
from bascule.identity.signed_state import Seal
from bascule.records.audit.log import Audit
from bascule.records.recorder import Recorder
from bascule.records.server_logs.file import log_folder
from bascule.records.server_logs.log import ServerLog
from bascule.runtime.admin import Oversight
from bascule.runtime.approvals.ask import Asking
from bascule.runtime.config_reload import Reloading, Watching
from bascule.runtime.execution.authorization import Terms
from bascule.runtime.execution.executor import Executor
from bascule.runtime.levels.raising import Raising
from bascule.runtime.python_tools import as_config, native_server, natives_of, with_natives
from bascule.runtime.sandboxes import Boxes
from bascule.runtime.server_requests.handler import Answering
from bascule.runtime.servers.listing_history import ListingMemory
from bascule.runtime.servers.registry import Roster
from bascule.runtime.session import AgentSession
from bascule.runtime.session_context import Standing
from bascule.runtime.telemetry_setup import Observing
from bascule.sensitivity.ratchet import Ratchets
from bascule.store.interface import Store
from bascule.store.null_store import Unkept
from bascule.store.open import store_at
from bascule.store.owners import OwnerStore
from bascule.store.secrets.vault import Vault
from bascule.transports.auth.oauth_credentials import Logins
from bascule.transports.auth.providers import Introducing, mint_of
from bascule.upstream.key import LinkKey
from bascule.workspace.level_marks import LevelMarks
from bascule.workspace.workspaces import Workspaces

MOVED = "another gateway serves this agent session from here on"

if TYPE_CHECKING:
    from bascule.records.telemetry.telemetry import Telemetry
    from bascule.runtime.execution.wrappers import Wrapper, Wrapping


class Runtime:
    """All servers of one config, and the agent sessions that use them. Use it as an async context manager.

    `on_elicit` answers what servers ask of a person, `on_sample` what they ask of a model; each may be a coroutine
    function. What has no callback is not offered to servers, and refused where they ask nevertheless.

    `on_login` sends a person to the URL it is given, and gives back the one to which their browser returned. Without
    it, a server that wants a login is `needs-auth` until someone runs `bascule login`.

    `on_ask` is asked about calls of tools that wait for a person (`ask` in the config); only True lets one go on.

    `for_clients` says that requests bring their own respondents, as those do that come through a gateway: servers of
    the old era, which are told once for a whole link what they may ask, are told that they may ask everything.
    """

    def __init__(  # noqa: PLR0913 -- each is another question that somebody may answer
        self,
        config: RuntimeConfig,
        *,
        sinks: Iterable[Sink] = (),
        on_elicit: OnElicit | None = None,
        on_sample: OnSample | None = None,
        on_login: OnLogin | None = None,
        on_ask: OnAsk | None = None,
        prove_required: bool = True,
        for_clients: bool = False,
        metrics_page: bool = True,
    ) -> None:
        self._config = config
        self._natives: dict[str, ServerConfig] = {}
        self._wrapping: Wrapping | None = None
        self._ratchets = Ratchets()
        self._raising: Raising | None = None
        self._respondent = Respondent(on_elicit, on_sample)
        self._on_login = on_login
        self._log = ServerLog(time.time)
        self._audit = Audit(time.time)
        self._observing = Observing(config, page=metrics_page)
        told = sinks if self._observing.telemetry is None else (self._observing.note, *sinks)
        self._recorder = Recorder(told, self._log, self._audit)
        self._asking = Asking(on_ask, tell=self._recorder.record)
        self._prove_required = prove_required
        self._for_clients = for_clients
        self._store: Store | None = None
        self._roster: Roster | None = None
        self._executor: Executor | None = None
        self._reloading: Reloading | None = None
        self._watched: Path | None = None
        self._watching: asyncio.Task[None] | None = None
        self._workspaces: Workspaces | None = None
        self._boxes: Boxes | None = None
        self._sessions: dict[Principal, AgentSession] = {}
        self._standings: dict[Principal, Standing] = {}

    @classmethod
    def from_file(  # noqa: PLR0913 -- the same
        cls,
        path: str | Path,
        *,
        sinks: Iterable[Sink] = (),
        on_elicit: OnElicit | None = None,
        on_sample: OnSample | None = None,
        on_login: OnLogin | None = None,
        on_ask: OnAsk | None = None,
        watch: bool = False,
    ) -> Self:
        """From `bascule.yaml`, `.mcp.json`, or any other file that names MCP servers. With `watch`, edits of the file
        are applied while the runtime runs."""
        config = load_file(path, os.environ)
        made = cls(config, sinks=sinks, on_elicit=on_elicit, on_sample=on_sample, on_login=on_login, on_ask=on_ask)
        if watch:
            made.watch()
        return made

    @classmethod
    def from_env(
        cls,
        agent: str,
        *,
        sinks: Iterable[Sink] = (),
        on_elicit: OnElicit | None = None,
        on_sample: OnSample | None = None,
        on_login: OnLogin | None = None,
        on_ask: OnAsk | None = None,
    ) -> Self:
        """From the `AGENT_<agent>_MCP_…` variables."""
        config = RuntimeConfig(servers={server.name: server for server in load_agent_mcp_configs(agent)})
        return cls(config, sinks=sinks, on_elicit=on_elicit, on_sample=on_sample, on_login=on_login, on_ask=on_ask)

    @classmethod
    def from_servers(
        cls,
        servers: Mapping[str, ServerConfig | Any],
        *,
        sinks: Iterable[Sink] = (),
        on_elicit: OnElicit | None = None,
        on_sample: OnSample | None = None,
        on_login: OnLogin | None = None,
        on_ask: OnAsk | None = None,
    ) -> Self:
        """From configs made by hand, from server objects that live in this process, or from lists of functions."""
        config = RuntimeConfig(servers={name: as_config(name, server) for name, server in servers.items()})
        return cls(config, sinks=sinks, on_elicit=on_elicit, on_sample=on_sample, on_login=on_login, on_ask=on_ask)

    async def __aenter__(self) -> Self:
        if self._store is not None:
            raise UsageError("the runtime is running already", fix="make another one, or share what this one gives")
        folder = state_folder(os.environ)
        self._workspaces = Workspaces.at(self.config.workspace_root, folder, quota=self.config.workspace_quota)
        self._store = store_at(self.config.store, folder)
        try:
            await self._open_records(self._store, folder)
        except BaseException:
            await self.close()
            raise
        # Servers of one name in two configs are two servers; a config made in code is told by where it runs.
        home = str((self.config.path or Path()).absolute())
        memory = ListingMemory(self._store, home, time.time)
        answers = (self._respondent, self._recorder, time.time, self._standings.get)
        answering = Answering(*answers, for_clients=self._for_clients)
        mint = cache(partial(mint_of, folder))
        around = surroundings(folder, self.config.workspace_root)
        introducing = Introducing(Logins(Vault(folder), self._on_login, time.time), mint, surroundings=around)
        self._log.open(log_folder(folder, Path(home)))
        self._ratchets = Ratchets()
        self._raising = raising = Raising(
            self._store.levels, self._ratchets, self._recorder.record, time.time, self._audit
        )
        self._boxes = Boxes(self.config, folder, os.environ, self._recorder)
        try:
            raising.marks = await self._open_marks(self._store, folder)
            self._workspaces.make_mark = raising.marks.make
            boxing = await self._boxes.open(raising, self._ratchets, self._workspaces)
        except BaseException:
            await self.close()
            raise
        within = (self._ratchets, raising.fence.lease, boxing)
        self._roster = Roster(self.config, self._recorder, memory, time.time, answering.reception, introducing, *within)
        self._roster.listings.locking.watch(self._roster.listings.follow_lock)
        raising.gates = self._roster
        self._executor = Executor(
            self._roster.links, self._recorder, time.time, answering, Terms(raising, self._asking)
        )
        self._executor.natives, self._executor.wrapping = natives_of(self.config), self._wrapping
        self._observing.begin(self._roster, self._executor, self._recorder, raising.fence.lease)

        def trial(config: RuntimeConfig) -> Roster:
            """For servers that may not come to stay: their links are logged, and nothing else is kept or told."""
            untold = ListingMemory(Unkept(), home, time.time)
            own = Introducing(Logins(Vault(folder), None, time.time), mint, surroundings=around)
            recorder = Recorder((), self._log)
            return Roster(config, recorder, untold, time.time, answering.reception, own, *within)

        self._reloading = Reloading(self.config, self._roster, trial, self._recorder, time.time, self._boxes)
        try:
            await raising.fence.open()
            if self._prove_required:
                await self._roster.prove_required()
        except BaseException:
            await self.close()
            raise
        if self._watched is not None:
            self._watching = asyncio.create_task(Watching(self._watched, self.reload).run(), name="watching")
        return self

    async def _open_records(self, store: Store, folder: Path) -> None:
        await self._observing.open()
        await store.open()
        whole = self.config.audit_arguments == "full"
        await self._audit.open(folder, store.anchors, every=self.config.anchor_every, whole=whole)

    async def _open_marks(self, store: Store, folder: Path) -> LevelMarks:
        marks = LevelMarks.at(self.config.workspace_root, folder, store.levels)
        if made := await marks.open():
            self._recorder.record(WorkspacesMarked(made, time.time()))
        return marks

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every link. Nothing that was started is left running."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait((self._watching,))
            self._watching = None
        await self._observing.stop()
        if self._roster is not None:
            await self._roster.close()
            if self._executor is not None:
                await self._executor.undoing.close()
                await self._executor.answering.roots.close()
            self._config, self._reloading = self.config, None
            self._roster = self._executor = None
            self._sessions.clear()
            self._standings.clear()
        if self._raising is not None:
            await self._raising.close()
            self._raising = None
        if self._boxes is not None:
            await self._boxes.close()
            self._boxes = None
        await self._log.close()
        if self._workspaces is not None:
            self._workspaces.close()
            self._workspaces = None
        # Last of all that happens: whatever was done until here is written down.
        await self._audit.close()
        if self._store is not None:
            await self._store.close()
            self._store = None
        await self._observing.close()

    @property
    def config(self) -> RuntimeConfig:
        """What runs. The settings beside the servers are those of the start."""
        return self._reloading.config if self._reloading is not None else self._config

    @property
    def telemetry(self) -> "Telemetry | None":
        """What it counts and traces, if the config asks for that."""
        return self._observing.telemetry

    @property
    def oversight(self) -> Oversight:
        """What an operator sees and does here while it runs."""
        if self._roster is None or self._raising is None or self._executor is None:
            raise not_running()
        seen = (self._roster, self._standings, self._raising, self._asking.desk)
        return Oversight(*seen, self._recorder, self._executor)

    def unready(self) -> tuple[str, ...]:
        """Why requests had better go elsewhere now: `store`, `audit`, `required-server` or `not-running`. Empty where
        nothing is in the way."""
        return self._observing.unready()

    def masked(self, text: str) -> str:
        """The text without any secret that is known here: of the config, and what servers were logged in with."""
        masks = () if self._roster is None else tuple(self._roster.masks.values())
        for mask in (Mask(secrets_in(self.config)), *masks):
            text = mask.text(text)
        return text

    def watch(self) -> None:
        """Apply edits of the config's file from the start of the runtime on. An event tells what became of each."""
        if self._config.path is None:
            raise UsageError("there is no file to watch: this config was made in code")
        self._watched = self._config.path

    async def reload(self) -> ConfigApplied:
        """Read the config's file again, and apply what differs from what runs: servers come, go or begin anew, and
        those that did not change go on undisturbed. Raises `ConfigError` where the file cannot be used, and
        `ConnectFailed` where a `required` server in it cannot; then nothing has changed."""
        path = self.config.path
        if path is None:
            raise UsageError("there is no file to read again: this config was made in code")
        if self._reloading is None:
            raise not_running()
        return await self._reloading.apply(lambda: with_natives(load_file(path, os.environ), self._natives))

    def native(self, name: str, functions: Iterable[Callable[..., Any]], **settings: Any) -> None:
        """Have functions of this program as the tools of one more server, before the runtime starts. The settings are
        those of a `ServerConfig`; see `native_server`."""
        if self._roster is not None:
            raise _running()
        server = native_server(name, functions, **settings)
        self._config = with_natives(self._config, {name: server})
        self._natives[name] = server

    def wrap(self, tool: str | tuple[str, str], wrapper: "Wrapper") -> None:
        """Put a function around one tool, before the runtime starts: by the name that agents use, or by its server and
        the server's own name for it. It is given a `Wrapped` to call, and the arguments; what it returns is the
        outcome of the call."""
        from bascule.runtime.execution.wrappers import Wrapping  # noqa: PLC0415 -- most runtimes have none

        if self._roster is not None:
            raise _running()
        self._wrapping = self._wrapping or Wrapping()
        self._wrapping.add(tool, wrapper)

    @cached_property
    def seal(self) -> Seal:
        """What marks things that others keep for us, so that they are known again: by every runtime of this state
        folder, and by no other."""
        return Seal(state_folder(os.environ), time.time)

    def session(self, user_id: str, session_id: str) -> AgentSession:
        """The agent session of this principal. Asking again gives the same one: it keeps what it has seen."""
        if self._roster is None or self._executor is None or self._raising is None:
            raise not_running()
        principal = Principal(user_id, session_id)
        session = self._sessions.get(principal)
        if session is None:
            standing = Standing(principal, self._roster, workspaces=self._workspaces)
            self._standings[principal] = standing
            above = self.config.search_above
            session = self._sessions[principal] = AgentSession(standing, self._executor, self._raising, above)
        return session

    def forget(self, principal: Principal) -> bool:
        """Keep nothing in memory of an agent session that has no link open and no call under way. When it is asked for
        again, it begins with what the store has of it; whoever still holds the old one holds one that is SECRET. False
        where it cannot be forgotten now; then it goes on."""
        if self._roster is None or self._executor is None or self._raising is None:
            raise not_running()
        standing = self._standings.get(principal)
        if standing is None:
            return True
        if standing.busy or self._executor.undoing.busy:
            return False
        keys = {LinkKey(server, lane, principal) for server in self._roster.servers for lane in Lane}
        if not self._roster.links.let_go(keys) or not self._raising.forget(principal):
            return False
        del self._sessions[principal], self._standings[principal]
        self._roster.let_go(principal)
        if self._workspaces is not None:
            self._workspaces.close(principal)
        return True

    @property
    def owners(self) -> OwnerStore:
        """Who serves which agent session, where several gateways share one store."""
        if self._store is None:
            raise not_running()
        return self._store.owners

    def let_go(self, principal: Principal) -> None:
        """End every link that is open on behalf of this principal alone: another runtime serves it from here on."""
        if self._roster is not None:
            self._roster.links.sever(principal, set(Lane), MOVED)


def not_running() -> UsageError:
    return UsageError("the runtime is not running", fix="use it in `async with Runtime(…) as runtime:`")


def _running() -> UsageError:
    return UsageError("the runtime is running already", fix="say this before `async with`")
