"""What a person does at the dashboard. Each is done through the runtime, and written into the audit log by name."""

from collections.abc import Mapping
from typing import Protocol

from bascule.core.errors import BasculeError
from bascule.core.sensitivity import DataSensitivity
from bascule.dashboard.session_ids import principal_of
from bascule.dashboard.views.servers import error_view
from bascule.dashboard.views.shapes import Deed
from bascule.runtime.runtime import Runtime


class Deeds(Protocol):
    """What a page can do. `by` is the name of the person. Nothing raises for what people do wrong: `Deed.ok` tells."""

    async def approve(self, server: str, digests: Mapping[str, str], *, by: str) -> Deed:
        """Approve tools of a server, each by its own name and the digest that was shown (`Drift.digest`, empty for one
        that is gone). Where one of them is another by now, nothing is approved."""
        ...

    async def answer(self, ask_id: str, *, agree: bool, by: str) -> Deed:
        """Let a call that waits go on, or refuse it. The first answer counts."""
        ...

    async def raise_session(self, session_id: str, level: DataSensitivity, *, by: str, reason: str = "") -> Deed: ...


class LocalDeeds:
    """Done in one runtime of this process."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def approve(self, server: str, digests: Mapping[str, str], *, by: str) -> Deed:
        try:
            tools = await self._runtime.oversight.approve(server, digests, by)
        except BasculeError as error:
            return self._failed(error)
        return Deed(ok=True, told=f"approved {len(tools)} of {server}: {', '.join(tools)}")

    async def answer(self, ask_id: str, *, agree: bool, by: str) -> Deed:
        try:
            waiting = self._runtime.oversight.answer(ask_id, by, agree=agree)
        except BasculeError as error:
            return self._failed(error)
        return Deed(ok=True, told=f"{waiting.approval.name} {'goes on' if agree else 'is refused'}")

    async def raise_session(self, session_id: str, level: DataSensitivity, *, by: str, reason: str = "") -> Deed:
        principal = principal_of(session_id)
        if principal is None:
            return Deed(ok=False, told="there is no such agent session")
        try:
            await self._runtime.oversight.raise_to(principal, level, by, reason)
        except BasculeError as error:
            return self._failed(error)
        return Deed(ok=True, told=f"{principal} is at least {level.name} from now on")

    def _failed(self, error: BasculeError) -> Deed:
        return Deed(ok=False, told=self._runtime.masked(error.message), error=error_view(error, self._runtime.masked))


def deeds_of(runtime: Runtime) -> Deeds:
    """What can be done in one runtime. From here on calls that wait for a person wait for whoever is asked here too."""
    runtime.oversight.desk.attended = True
    return LocalDeeds(runtime)
