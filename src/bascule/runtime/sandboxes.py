"""Sandbox engines and provisions of one runtime: found when it starts, released when it ends."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.config.model.egress import Egress
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.config.model.sandbox import NONE
from bascule.config.model.transport import StdioTransport
from bascule.core.events import HostAsked
from bascule.core.principal import Principal
from bascule.records.recorder import Recorder
from bascule.runtime.levels.raising import Raising
from bascule.runtime.levels.socket_server import RaiseProvision
from bascule.sandbox.engines import CHOICE, KINDS, Engines, looked_for
from bascule.sandbox.factory import UNBOXED, Boxing, Provision
from bascule.sandbox.owner import Owner
from bascule.workspace.workspaces import Workspaces

if TYPE_CHECKING:
    from bascule.sandbox.discovery import Found
    from bascule.sandbox.egress.access_log import Access
    from bascule.sandbox.egress.provision import ProxyProvision
    from bascule.sandbox.prepare.provision import PreparedPackages


class Boxes:
    """The engines of one runtime, and all that its boxes are given."""

    def __init__(self, config: RuntimeConfig, state: Path, environ: Mapping[str, str], recorder: Recorder) -> None:
        self._config = config
        self._state = state
        self._environ = environ
        self._record = recorder.record
        self._owner: Owner | None = None
        self._found: Found | None = None
        self._raising: Raising | None = None
        self._packages: PreparedPackages | None = None
        self._way_out: ProxyProvision | None = None
        self.boxing: Boxing = UNBOXED

    async def open(self, raising: Raising, workspaces: Workspaces) -> Boxing:
        """Make ready to box the servers of the config."""

        def workspace_of(principal: Principal) -> str:
            return workspaces.of(principal).host_path("/workspace")

        self._raising = raising
        unwanted = f"{CHOICE}={self._environ.get(CHOICE, '')}"
        self.boxing = Boxing(
            Engines((), dict.fromkeys(KINDS, unwanted)), (), workspace_of, self._config.workspace_quota
        )
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
        self._owner = owner = Owner(self._state)
        self._found = await find_engines(self._environ, owner)
        await reap(self._state, self._environ)
        self.boxing.provisions = self._provisions(owner, self._raising)
        self.boxing.engines = self._found.engines

    async def let_out(self, egress: Egress) -> None:
        """From now on proxied boxes reach these hosts, and no others. A box that was made when none was listed has no
        way to the proxy, and reaches nothing still."""
        if self._way_out is not None:
            await self._way_out.change(egress)

    def _provisions(self, owner: Owner, raising: Raising) -> tuple[Provision, ...]:
        from bascule.sandbox.egress.provision import ProxyProvision  # noqa: PLC0415
        from bascule.sandbox.egress.proxy import EgressProxy, why_not  # noqa: PLC0415
        from bascule.sandbox.prepare.provision import PreparedPackages  # noqa: PLC0415

        self._packages = PreparedPackages(self._state)
        raises = RaiseProvision(owner.folder / "raise", raising.level_of, raising.raise_to)
        if why_not():
            # Without a proxy a proxied box reaches nothing, which is on the safe side; `doctor` tells.
            return (self._packages, raises)
        egress, folder = self._config.egress, str(owner.folder / "egress")
        self._way_out = ProxyProvision(egress, self._asked, lambda heard: EgressProxy(egress, folder, heard))
        return (self._packages, raises, self._way_out)

    def _asked(self, server: str, principal: Principal, access: "Access") -> None:
        self._record(
            HostAsked(
                server,
                principal,
                access.host,
                access.port,
                access.reason,
                access.status,
                access.sent,
                access.received,
                ended=access.phase == "ended",
                at=time.time(),
            )
        )

    async def close(self) -> None:
        """Every link is closed by now, and so is every box."""
        if self._packages is not None:
            await self._packages.close()
            self._packages = None
        if self._way_out is not None:
            await self._way_out.close()
            self._way_out = None
        if self._found is not None:
            await self._found.close()
            self._found = None
        if self._owner is not None:
            self._owner.release()
            self._owner = None


def _may_be_boxed(server: ServerConfig) -> bool:
    return isinstance(server.transport, StdioTransport) and server.sandbox != NONE


def proxy_trouble(config: RuntimeConfig) -> str:
    """Why the hosts that may receive cannot be reached, if so."""
    from bascule.sandbox.egress.proxy import why_not  # noqa: PLC0415 -- only where hosts are listed

    return why_not() if config.egress.allow else ""
