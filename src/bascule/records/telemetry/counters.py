"""Metric counters since the start, as plain numbers. Every call pays for them, so all further work waits for the
export."""

from collections.abc import Callable, Iterable
from typing import Any

from bascule.core.events import (
    LevelChanged,
    LinkChanged,
    RequestEnded,
    ToolInvoked,
    ToolsQuarantined,
)
from bascule.core.outcome import ToolFailure
from bascule.core.principal import Principal
from bascule.core.trace_context import Span
from bascule.records.telemetry.histogram import MOST_SERIES, Histograms
from bascule.records.telemetry.labels import (
    NETWORKS,
    REST,
    UNKNOWN,
    ClientLabels,
    ServerLabels,
    SessionLabels,
    error_type,
)

MOST_LOST = 10_000
"""Links that are remembered as lost until they are opened again."""

_NO_SPAN = Span()

FAILED = frozenset({"failed", "needs-auth"})

Standing = tuple[str, str, str]
"""A link that is there: its server, its lane, its state."""


class Counts:
    """The numbers of one runtime. Written by its loop alone; read from anywhere."""

    def __init__(self) -> None:
        self.active = 0
        """Calls under way."""
        self.serving = 0
        """Requests of the gateway's clients under way."""
        self.client: Histograms[ClientLabels] = Histograms(ClientLabels(REST))
        self.server: Histograms[ServerLabels] = Histograms(ServerLabels(REST))
        self.client_sessions: Histograms[SessionLabels] = Histograms(SessionLabels(REST))
        self.server_sessions: Histograms[tuple[()]] = Histograms(())
        self.errors: dict[tuple[str, ...], int] = {}
        self.refusals: dict[tuple[str, ...], int] = {}
        self.raises: dict[tuple[str, ...], int] = {}
        self.restarts: dict[tuple[str, ...], int] = {}
        self.link_failures: dict[tuple[str, ...], int] = {}
        self.quarantined: dict[tuple[str, ...], int] = {}
        self.responses: dict[tuple[str, ...], int] = {}
        self.links: Callable[[], Iterable[Standing]] = tuple
        """Tells which links there are. Asked when somebody looks."""
        self._lost: set[tuple[str, str, Principal]] = set()
        self._takers: dict[type, Callable[[Any], None]] = {
            ToolInvoked: self._tool,
            RequestEnded: self._request,
            LinkChanged: self._link,
            LevelChanged: self._level,
            ToolsQuarantined: self._quarantine,
        }

    def note(self, event: object) -> None:
        """Count an event, if it is one of those that are."""
        take = self._takers.get(type(event))
        if take is not None:
            take(event)

    def served(self, labels: ServerLabels, seconds: float) -> None:
        """Count a request of a client of the gateway."""
        self.server.add(labels, seconds)

    def responded(self, status: int) -> None:
        """Count an answer of the gateway over HTTP."""
        _count(self.responses, (str(status),))

    def session_ended(self, seconds: float) -> None:
        """Count a session of the old era that is over."""
        self.server_sessions.add((), seconds)

    def _tool(self, event: ToolInvoked) -> None:
        span, outcome = event.span or _NO_SPAN, event.outcome
        error = self._failed(event, outcome) if type(outcome) is ToolFailure else ""
        labels = ClientLabels(
            "tools/call",
            event.tool if event.server else UNKNOWN,
            "",
            error,
            span.version,
            NETWORKS.get(span.transport, ""),
            event.server,
            event.lane.value,
        )
        self.client.add(labels, event.seconds)

    def _request(self, event: RequestEnded) -> None:
        span, outcome = event.span or _NO_SPAN, event.outcome
        error = self._failed(event, outcome) if type(outcome) is ToolFailure else ""
        prompt = (event.subject if event.server else UNKNOWN) if event.method == "prompts/get" else ""
        transport = NETWORKS.get(span.transport, "")
        labels = ClientLabels(event.method, "", prompt, error, span.version, transport, event.server, event.lane.value)
        self.client.add(labels, event.seconds)

    def _failed(self, event: ToolInvoked | RequestEnded, failure: ToolFailure) -> str:
        if failure.asks:
            return ""
        _count(self.errors, (failure.kind.value, event.server))
        if event.rule:
            _count(self.refusals, (event.rule, event.server))
        return error_type(failure)

    def _link(self, event: LinkChanged) -> None:
        key = (event.server, event.lane.value, event.principal)
        if event.state == "connecting":
            if key in self._lost:
                self._lost.discard(key)
                _count(self.restarts, (event.server,))
        elif event.state in FAILED:
            _count(self.link_failures, (event.server, event.code))
            if len(self._lost) < MOST_LOST:
                self._lost.add(key)
        if event.lived is not None:
            # Of a link that failed the code tells why; one that was closed ended well.
            labels = SessionLabels(event.code, event.server, event.lane.value)
            self.client_sessions.add(labels, event.lived)

    def _level(self, event: LevelChanged) -> None:
        _count(self.raises, (event.change, event.before.name.lower(), event.after.name.lower()))

    def _quarantine(self, event: ToolsQuarantined) -> None:
        if event.tools:
            _count(self.quarantined, (event.server,), len(event.tools))


def _count(counts: dict[tuple[str, ...], int], labels: tuple[str, ...], by: int = 1) -> None:
    if labels not in counts and len(counts) >= MOST_SERIES:
        labels = tuple(REST for _ in labels)
    counts[labels] = counts.get(labels, 0) + by
