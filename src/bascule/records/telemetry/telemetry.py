"""Telemetry of one runtime: its metric counters, its spans, and their export."""

import asyncio
from collections.abc import Callable
from random import getrandbits
from typing import TYPE_CHECKING

from bascule.config.model.telemetry import TelemetrySettings
from bascule.core.errors import ConfigError
from bascule.core.events import Event, RequestEnded, ToolInvoked
from bascule.core.trace_context import CURRENT_SPAN, Span, TraceContext
from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.finished import Finished, finished_call
from bascule.records.telemetry.labels import ServerLabels
from bascule.records.telemetry.metrics import sent_families

if TYPE_CHECKING:
    from bascule.records.telemetry.otlp import Exporting
    from bascule.records.telemetry.prometheus import ScrapePage

PACKAGES = frozenset({"opentelemetry", "prometheus_client", "requests"})
"""What comes with the extra `otel`."""


class Telemetry:
    """Counts, and makes spans where somebody collects them. A runtime that was asked for neither has none of this."""

    def __init__(self, settings: TelemetrySettings, version: str) -> None:
        self._settings = settings
        self._version = version
        self.counts = Counts()
        self._exporting: Exporting | None = None
        self._page: ScrapePage | None = None
        self._ambient: Callable[[], TraceContext | None] = _none
        self.port: int | None = None
        """Where the metrics are served, while they are."""

    async def open(self) -> None:
        """Raises `ConfigError` where a package is missing, or an address is taken."""
        try:
            await self._open()
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in PACKAGES:
                raise
            raise ConfigError(
                "telemetry: it needs packages that are not installed",
                problems=(f"telemetry: {error}",),
                fix="pip install 'bascule[otel]', or leave `telemetry` out",
            ) from error

    async def _open(self) -> None:
        settings = self._settings
        if settings.otlp is not None:
            from bascule.records.telemetry.otlp import Exporting, ambient  # noqa: PLC0415 -- an extra, and half a second

            self._ambient = ambient
            self._exporting = Exporting(settings.otlp, self.counts, self._version)
        if settings.page is not None:
            from bascule.records.telemetry.prometheus import (  # noqa: PLC0415 -- the same
                CONTENT_TYPE,
                ScrapePage,
                exposition,
            )

            sent = None if self._exporting is None else self._exporting.sent
            self._page = ScrapePage(
                lambda: exposition(self.counts, () if sent is None else sent_families(sent)), CONTENT_TYPE
            )
            self.port = await self._page.open(*settings.page)
        if self._exporting is not None:
            self._exporting.open()

    async def close(self) -> None:
        """Send what is left, within a few seconds."""
        page, self._page = self._page, None
        exporting, self._exporting = self._exporting, None
        self.port = None
        if page is not None:
            await page.close()
        if exporting is not None and exporting.opened:
            await asyncio.to_thread(exporting.close)

    @property
    def traces(self) -> bool:
        """Whether spans are made."""
        return self._exporting is not None

    def begin(self) -> Span:
        """A request to a server begins, in the course of whatever is under way here."""
        self.counts.active += 1
        around = CURRENT_SPAN.get()
        parent = self._ambient() if around is None else around.context
        return self._begun(around, parent)

    def leave(self, span: Span) -> None:
        """It has ended, or was handed on. What came of it is told by its event."""
        self.counts.active -= 1
        CURRENT_SPAN.set(span.around)

    def begin_serving(self, parent: TraceContext | None) -> Span:
        """A request of a client begins, in the trace that the client names."""
        self.counts.serving += 1
        return self._begun(CURRENT_SPAN.get(), parent)

    def served(self, span: Span, labels: ServerLabels, ended: Finished | None, seconds: float) -> None:
        """A request of a client has ended."""
        self.counts.serving -= 1
        self.counts.served(labels, seconds)
        CURRENT_SPAN.set(span.around)
        if ended is not None and self._exporting is not None and ended.context.sampled:
            self._exporting.put(ended)

    def note(self, event: Event) -> None:
        """Take an event: a sink."""
        self.counts.note(event)
        if self._exporting is None or not isinstance(event, ToolInvoked | RequestEnded):
            return
        span = event.span
        if span is not None and span.context is not None and span.context.sampled:
            self._exporting.put(finished_call(event, span, span.context))

    def _begun(self, around: Span | None, parent: TraceContext | None) -> Span:
        if self._exporting is None:
            # No span of ours stands between: what comes after is the child of what was before.
            span = Span(around, parent)
        elif parent is None:
            span = Span(around, TraceContext(getrandbits(128) or 1, getrandbits(64) or 1))
        else:
            own = TraceContext(parent.trace_id, getrandbits(64) or 1, parent.sampled, parent.state)
            span = Span(around, own, parent)
        CURRENT_SPAN.set(span)
        return span


def _none() -> None:
    return None
