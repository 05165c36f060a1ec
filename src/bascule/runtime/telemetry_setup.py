"""Telemetry and readiness of a runtime: metrics and traces are exported if the config enables them."""

import time
from functools import partial
from typing import TYPE_CHECKING

from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.model.telemetry import TelemetrySettings
from bascule.core.events import Event
from bascule.records.recorder import Recorder
from bascule.runtime.execution.executor import Executor
from bascule.runtime.readiness import Readiness
from bascule.runtime.servers.registry import Roster
from bascule.sensitivity.lease import Lease

if TYPE_CHECKING:
    from bascule.records.telemetry.telemetry import Telemetry

NOT_RUNNING = "not-running"


class Observing:
    """Of one runtime, from before its start to after its end."""

    def __init__(self, config: RuntimeConfig, *, page: bool = True) -> None:
        """Without a page, metrics are not served although the config says where: another program does that."""
        settings = config.telemetry
        self.telemetry = _telemetry_of(settings if page else TelemetrySettings(settings.otlp))
        self._readiness: Readiness | None = None

    def note(self, event: Event) -> None:
        """Take an event: a sink."""
        if self.telemetry is not None:
            self.telemetry.note(event)

    async def open(self) -> None:
        """Before anything is started: that an address is taken, or a package missing, is known at once."""
        if self.telemetry is not None:
            await self.telemetry.open()

    def begin(self, roster: Roster, executor: Executor, recorder: Recorder, lease: Lease) -> None:
        """Look at what runs now."""
        self._readiness = Readiness(roster, lease, recorder, time.monotonic)
        executor.telemetry = self.telemetry
        if self.telemetry is not None:
            self.telemetry.counts.links = partial(_links_of, roster)

    def unready(self) -> tuple[str, ...]:
        return (NOT_RUNNING,) if self._readiness is None else self._readiness.reasons()

    async def stop(self) -> None:
        """Start nothing more: the servers are about to be left."""
        if self._readiness is not None:
            await self._readiness.close()
            self._readiness = None

    async def close(self) -> None:
        """Tell the rest of what was seen."""
        if self.telemetry is not None:
            await self.telemetry.close()


def _telemetry_of(settings: TelemetrySettings) -> "Telemetry | None":
    if not settings:
        return None
    from bascule import __version__  # noqa: PLC0415 -- the package's own root
    from bascule.records.telemetry.telemetry import Telemetry  # noqa: PLC0415 -- most runtimes have none

    return Telemetry(settings, __version__)


def _links_of(roster: Roster) -> list[tuple[str, str, str]]:
    return [(link.key.server, link.key.lane.value, link.condition.state.value) for link in roster.links.links()]
