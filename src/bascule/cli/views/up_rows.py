"""Rows of `bascule up`: state of the link to each configured server, for one principal."""

from collections import Counter
from dataclasses import dataclass, field

from bascule.cli.json_output.running import RowShape
from bascule.cli.output.errors import as_json
from bascule.core.errors import BasculeError
from bascule.core.events import ConfigApplied, LinkChanged
from bascule.runtime.servers.status import ServerReport
from bascule.upstream.state import USABLE, LinkState


@dataclass(frozen=True, slots=True)
class Row:
    """How one server stands."""

    name: str
    transport: str
    state: str
    reason: str
    era: str | None
    tools: int
    restarts: int
    """How often it came back after it was ready once."""
    error: BasculeError | None = None
    at: float | None = field(default=None, compare=False)
    """When its link last changed, in seconds since the epoch."""


class Rows:
    """What the links have told so far, laid over how the servers stand."""

    def __init__(self) -> None:
        self._changes: dict[str, LinkChanged] = {}
        self._readied = Counter[str]()

    def note(self, event: LinkChanged) -> None:
        self._changes[event.server] = event
        self._readied[event.server] += event.state in USABLE

    def forget(self, event: ConfigApplied) -> None:
        """What was told of these servers was of others by the same name."""
        for name in (*event.added, *event.removed, *event.restarted):
            self._changes.pop(name, None)
        for name in (*event.added, *event.removed):
            del self._readied[name]

    def of(self, reports: tuple[ServerReport, ...]) -> list[Row]:
        return [self._row(report) for report in reports]

    def _row(self, report: ServerReport) -> Row:
        change = self._changes.get(report.name)
        usable = change is not None and change.state in USABLE
        return Row(
            name=report.name,
            transport=report.transport,
            state=change.state if change is not None else report.state,
            reason=change.reason if change is not None else report.reason,
            era=report.version if usable else None,
            tools=report.tools if usable else 0,
            restarts=max(0, self._readied[report.name] - 1),
            # A link may come back before anyone has asked for its tools again.
            error=None if usable else report.error,
            at=change.at if change is not None else None,
        )


def row_shape(row: Row, now: float) -> RowShape:
    """A row in its documented JSON shape."""
    return {
        "event": "server",
        "name": row.name,
        "transport": row.transport,
        "state": LinkState(row.state),
        "reason": row.reason,
        "era": row.era,
        "tools": row.tools,
        "restarts": row.restarts,
        "error": as_json(row.error) if row.error is not None else None,
        "at": now if row.at is None else row.at,
    }
