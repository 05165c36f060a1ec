"""What a runtime boxes its servers with: looked for when it starts, and gone when it ends."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.config.model import RuntimeConfig
from bascule.core.events import HostAsked
from bascule.core.principal import Principal
from bascule.records.recorder import Recorder
from bascule.runtime.raise_provision import RaiseProvision
from bascule.runtime.raising import Raising
from bascule.sandbox.boxing import UNBOXED, Boxing, Provision
from bascule.sandbox.engines import CHOICE, KINDS, Engines, looked_for
from bascule.sandbox.owner import Owner
from bascule.workspace.workspaces import Workspaces

if TYPE_CHECKING:
    from bascule.sandbox.egress.access import Access
    from bascule.sandbox.egress.proxy import EgressProxy
    from bascule.sandbox.finding import Found


class Boxes:
    """The engines of one runtime, and all that its boxes are given."""

    def __init__(self, config: RuntimeConfig, state: Path, environ: Mapping[str, str], recorder: Recorder) -> None:
        self._config = config
        self._state = state
        self._environ = environ
        self._record = recorder.record
        self._owner: Owner | None = None
        self._found: Found | None = None
        self._proxy: EgressProxy | None = None
        self.boxing: Boxing = UNBOXED

    async def open(self, raising: Raising, workspaces: Workspaces) -> Boxing:
        """Find out what can be had here. What another runtime has left behind, because it was killed, is removed."""
        if not looked_for(self._environ):
            unwanted = f"{CHOICE}={self._environ.get(CHOICE, '')}"
            self.boxing = Boxing(Engines((), dict.fromkeys(KINDS, unwanted)))
            return self.boxing
        from bascule.sandbox.finding import find_engines, reap  # noqa: PLC0415 -- not where there are no boxes

        self._owner = owner = Owner(self._state)
        self._found = await find_engines(self._environ, owner)
        await reap(self._state, self._environ)
        provisions = self._provisions(owner, raising)

        def workspace_of(principal: Principal) -> str:
            return workspaces.of(principal).host_path("/workspace")

        self.boxing = Boxing(self._found.engines, provisions, workspace_of)
        return self.boxing

    def _provisions(self, owner: Owner, raising: Raising) -> tuple[Provision, ...]:
        from bascule.sandbox.egress.program import why_not  # noqa: PLC0415 -- see above
        from bascule.sandbox.prepare.provision import PreparedPackages  # noqa: PLC0415

        made: list[Provision] = [PreparedPackages(self._state)]
        made.append(RaiseProvision(owner.folder / "raise", raising.level_of, raising.raise_to))
        # Without a proxy a proxied box reaches nothing, which is on the safe side; `doctor` tells.
        if self._config.egress.allow and not why_not():
            made.append(self._way_out(owner))
        return tuple(made)

    def _way_out(self, owner: Owner) -> Provision:
        from bascule.sandbox.egress.provision import ProxyProvision  # noqa: PLC0415 -- only where hosts are listed
        from bascule.sandbox.egress.proxy import EgressProxy  # noqa: PLC0415

        provision = ProxyProvision(self._asked)
        self._proxy = EgressProxy(self._config.egress, str(owner.folder / "egress"), provision.heard)
        provision.proxy = self._proxy
        return provision

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
        if self._proxy is not None:
            await self._proxy.close()
            self._proxy = None
        if self._found is not None:
            await self._found.close()
            self._found = None
        if self._owner is not None:
            self._owner.release()
            self._owner = None


def proxy_trouble(config: RuntimeConfig) -> str:
    """Why the hosts that may receive cannot be reached, if so."""
    from bascule.sandbox.egress.program import why_not  # noqa: PLC0415 -- only where hosts are listed

    return why_not() if config.egress.allow else ""
