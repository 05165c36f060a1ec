"""Sandbox engines and provisions of one runtime: found when it starts, released when it ends.

Egress events and requests to raise a level come up from the sandboxes in queues, which tasks here empty."""

import asyncio
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.config.locate import loaded_files
from bascule.config.model.egress import Egress
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.config.model.sandbox import NONE
from bascule.config.model.transport import StdioTransport
from bascule.core.events import HostAsked
from bascule.records.recorder import Recorder
from bascule.runtime.levels.raising import Raising
from bascule.sandbox.engines import CHOICE, KINDS, Engines, looked_for
from bascule.sandbox.factory import UNBOXED, Boxing, Provision
from bascule.sandbox.owner import Owner
from bascule.sandbox.raise_socket import RaiseProvision
from bascule.sensitivity.ratchet import Ratchets
from bascule.workspace.workspaces import Workspaces

if TYPE_CHECKING:
    from bascule.sandbox.discovery import Found
    from bascule.sandbox.egress.provision import ProxyProvision
    from bascule.sandbox.prepare.provision import PreparedPackages


class Boxes:
    """The sandbox engines of one runtime, and the provisions of its sandboxes."""

    def __init__(self, config: RuntimeConfig, state: Path, environ: Mapping[str, str], recorder: Recorder) -> None:
        self._config = config
        self._loaded = tuple(map(os.path.realpath, loaded_files(config.path))) if config.path is not None else ()
        self._state = state
        self._environ = environ
        self._record = recorder.record
        self._owner: Owner | None = None
        self._found: Found | None = None
        self._raising: Raising | None = None
        self._ratchets: Ratchets | None = None
        self._packages: PreparedPackages | None = None
        self._way_out: ProxyProvision | None = None
        self._serving: list[asyncio.Task[None]] = []
        self.boxing: Boxing = UNBOXED

    async def open(self, raising: Raising, ratchets: Ratchets, workspaces: Workspaces) -> Boxing:
        """Prepares the sandboxes for the servers of the config."""
        self._raising, self._ratchets = raising, ratchets
        unwanted = f"{CHOICE}={self._environ.get(CHOICE, '')}"
        engines = Engines((), dict.fromkeys(KINDS, unwanted))
        self.boxing = Boxing(engines, (), workspaces, self._config.workspace_quota, self._loaded)
        await self.look(self._config.servers)
        return self.boxing

    async def look(self, servers: Mapping[str, ServerConfig]) -> None:
        """Find out what can be had here, once, when a server may need it: that takes a tenth of a second. What another
        runtime has left behind, because it was killed, is removed."""
        wanted = looked_for(self._environ)
        if self._owner is not None or not wanted or not any(map(_may_be_boxed, servers.values())):
            return
        from bascule.sandbox.discovery import find_engines, reap  # noqa: PLC0415 -- not where there are no boxes

        assert self._raising is not None
        assert self._ratchets is not None
        self._owner = owner = Owner(self._state)
        self._found = await find_engines(self._environ, owner)
        await reap(self._state, self._environ)
        self.boxing.provisions = self._provisions(owner, self._raising, self._ratchets)
        self.boxing.engines = self._found.engines

    async def let_out(self, egress: Egress) -> None:
        """From now on proxied boxes reach these hosts, and no others. A box that was made when none was listed has no
        way to the proxy, and reaches nothing still."""
        if self._way_out is not None:
            await self._way_out.change(egress)

    def _provisions(self, owner: Owner, raising: Raising, ratchets: Ratchets) -> tuple[Provision, ...]:
        from bascule.sandbox.egress.provision import ProxyProvision  # noqa: PLC0415
        from bascule.sandbox.egress.proxy import EgressProxy, why_not  # noqa: PLC0415
        from bascule.sandbox.prepare.provision import PreparedPackages  # noqa: PLC0415

        self._packages = PreparedPackages(self._state, self._loaded)
        raises = RaiseProvision(owner.folder / "raise", ratchets)
        self._serving.append(asyncio.create_task(raising.serve(raises.requests), name="raise requests"))
        if why_not():
            # Without a proxy a sandbox of the proxied lane reaches no host, which is safe; `doctor` reports it.
            return (self._packages, raises)
        egress, folder = self._config.egress, str(owner.folder / "egress")
        self._way_out = ProxyProvision(egress, partial(EgressProxy, egress, folder))
        self._serving.append(asyncio.create_task(self._record_all(self._way_out.asked), name="egress events"))
        return (self._packages, raises, self._way_out)

    async def _record_all(self, events: asyncio.Queue[HostAsked]) -> None:
        while True:
            self._record(await events.get())

    async def close(self) -> None:
        """Ends all that the sandboxes were given. Every link, and so every sandbox, is closed by now."""
        if self._packages is not None:
            await self._packages.close()
            self._packages = None
        if self._way_out is not None:
            await self._way_out.close()
        await self._stop_serving()
        if self._way_out is not None:
            # The proxy writes the last lines of its log as it ends.
            while not self._way_out.asked.empty():
                self._record(self._way_out.asked.get_nowait())
            self._way_out = None
        if self._found is not None:
            await self._found.close()
            self._found = None
        if self._owner is not None:
            self._owner.release()
            self._owner = None

    async def _stop_serving(self) -> None:
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)
            self._serving.clear()


def _may_be_boxed(server: ServerConfig) -> bool:
    return isinstance(server.transport, StdioTransport) and server.sandbox != NONE


def proxy_trouble(config: RuntimeConfig) -> str:
    """Why the hosts that may receive cannot be reached, if so."""
    from bascule.sandbox.egress.proxy import why_not  # noqa: PLC0415 -- only where hosts are listed

    return why_not() if config.egress.allow else ""
