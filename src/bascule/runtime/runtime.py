"""The runtime: a config in, agent sessions out."""

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from bascule.config import InProcessTransport, RuntimeConfig, ServerConfig, load_agent_mcp_configs, load_file
from bascule.config.state import state_folder
from bascule.core.answer import OnElicit, OnSample
from bascule.core.errors import UsageError
from bascule.core.events import Sink
from bascule.core.principal import Principal
from bascule.identity.redirect import OnLogin
from bascule.records.recorder import Recorder
from bascule.runtime.answering import Answering
from bascule.runtime.executor import Executor
from bascule.runtime.memory import ListingMemory
from bascule.runtime.respondent import Respondent
from bascule.runtime.roster import Roster
from bascule.runtime.session import AgentSession
from bascule.runtime.standing import Standing
from bascule.store.choose import store_at
from bascule.store.interface import Store
from bascule.store.vault import Vault
from bascule.transports.http_logins import Logins


class Runtime:
    """All servers of one config, and the agent sessions that use them. Use it as an async context manager.

    `on_elicit` answers what servers ask of a person, `on_sample` what they ask of a model; each may be a coroutine
    function. What has no callback is not offered to servers, and refused where they ask nevertheless.

    `on_login` sends a person to the URL it is given, and gives back the one to which their browser returned. Without
    it, a server that wants a login is `needs-auth` until someone runs `bascule login`.
    """

    def __init__(
        self,
        config: RuntimeConfig,
        *,
        sinks: Iterable[Sink] = (),
        on_elicit: OnElicit | None = None,
        on_sample: OnSample | None = None,
        on_login: OnLogin | None = None,
        prove_required: bool = True,
    ) -> None:
        self.config = config
        self._respondent = Respondent(on_elicit, on_sample)
        self._on_login = on_login
        self._recorder = Recorder(sinks)
        self._prove_required = prove_required
        self._store: Store | None = None
        self._roster: Roster | None = None
        self._executor: Executor | None = None
        self._sessions: dict[Principal, AgentSession] = {}
        self._standings: dict[Principal, Standing] = {}

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        sinks: Iterable[Sink] = (),
        on_elicit: OnElicit | None = None,
        on_sample: OnSample | None = None,
        on_login: OnLogin | None = None,
    ) -> Self:
        """From `bascule.yaml`, `.mcp.json`, or any other file that names MCP servers."""
        config = load_file(path, os.environ)
        return cls(config, sinks=sinks, on_elicit=on_elicit, on_sample=on_sample, on_login=on_login)

    @classmethod
    def from_env(
        cls,
        agent: str,
        *,
        sinks: Iterable[Sink] = (),
        on_elicit: OnElicit | None = None,
        on_sample: OnSample | None = None,
        on_login: OnLogin | None = None,
    ) -> Self:
        """From the `AGENT_<agent>_MCP_…` variables."""
        config = RuntimeConfig(servers={server.name: server for server in load_agent_mcp_configs(agent)})
        return cls(config, sinks=sinks, on_elicit=on_elicit, on_sample=on_sample, on_login=on_login)

    @classmethod
    def from_servers(
        cls,
        servers: Mapping[str, ServerConfig | Any],
        *,
        sinks: Iterable[Sink] = (),
        on_elicit: OnElicit | None = None,
        on_sample: OnSample | None = None,
        on_login: OnLogin | None = None,
    ) -> Self:
        """From configs made by hand, or from server objects that live in this process."""
        config = RuntimeConfig(servers={name: _as_config(name, server) for name, server in servers.items()})
        return cls(config, sinks=sinks, on_elicit=on_elicit, on_sample=on_sample, on_login=on_login)

    async def __aenter__(self) -> Self:
        folder = state_folder(os.environ)
        self._store = store_at(self.config.store, folder)
        await self._store.open()
        # Servers of one name in two configs are two servers; a config made in code is told by where it runs.
        home = str((self.config.path or Path()).absolute())
        memory = ListingMemory(self._store, home, time.time)
        answering = Answering(self._respondent, self._recorder, time.time, self._standings.get)
        logins = Logins(Vault(folder), self._on_login, time.time)
        self._roster = Roster(self.config, self._recorder, memory, time.time, answering.reception, logins)
        self._executor = Executor(self._roster.links, self._recorder, time.time, answering)
        if self._prove_required:
            try:
                await self._roster.prove_required()
            except BaseException:
                await self.close()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every link. Nothing that was started is left running."""
        if self._roster is not None:
            await self._roster.close()
            self._roster = self._executor = None
            self._sessions.clear()
            self._standings.clear()
        if self._store is not None:
            await self._store.close()
            self._store = None

    def session(self, user_id: str, session_id: str) -> AgentSession:
        """The agent session of this principal. Asking again gives the same one: it keeps what it has seen."""
        if self._roster is None or self._executor is None:
            raise UsageError("the runtime is not running", fix="use it in `async with Runtime(…) as runtime:`")
        principal = Principal(user_id, session_id)
        session = self._sessions.get(principal)
        if session is None:
            standing = self._standings[principal] = Standing(principal, self._roster)
            session = self._sessions[principal] = AgentSession(standing, self._executor)
        return session


def _as_config(name: str, server: ServerConfig | Any) -> ServerConfig:
    if not isinstance(server, ServerConfig):
        return ServerConfig(name=name, transport=InProcessTransport(server))
    if server.name != name:
        raise UsageError(f"the server called {name!r} has a config named {server.name!r}", fix="use one name for both")
    return server
