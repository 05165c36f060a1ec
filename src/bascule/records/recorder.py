"""Event recorder: passes events to the audit log, server logs and sinks, so that no sink can fail a call; also the set
of servers whose last link failed."""

import logging
import time
from collections.abc import Iterable
from pathlib import Path

from bascule.core.events import Event, LinkChanged, Sink
from bascule.core.json_types import JsonObject
from bascule.core.principal import Principal
from bascule.core.text.redaction import Mask
from bascule.records.audit.log import Audit
from bascule.records.log_messages import Remarks
from bascule.records.server_logs.log import ServerLog

UP = frozenset({"ready", "degraded"})

_log = logging.getLogger("bascule.records")


class Failing:
    """Servers whose last link failed, while it was opened or later: kept from the events of all links."""

    __slots__ = ("servers",)

    def __init__(self) -> None:
        self.servers: set[str] = set()

    def note(self, event: LinkChanged) -> None:
        if event.state == "failed":
            self.servers.add(event.server)
        elif event.state in UP:
            self.servers.discard(event.server)


class Recorder:
    """The audit log of one runtime, which hears everything first, the log of its servers, and its sinks. A sink that
    raises is logged and the others still hear the event."""

    def __init__(self, sinks: Iterable[Sink] = (), log: ServerLog | None = None, audit: Audit | None = None) -> None:
        self._sinks = tuple(sinks)
        self._servers = log
        self.audit = audit
        self._remarks = Remarks(time.monotonic)
        self.failing = Failing()

    def record(self, event: Event) -> None:
        if self.audit is not None:
            self.audit.note(event)
        if type(event) is LinkChanged:
            self._link(event)
        for sink in self._sinks:
            try:
                sink(event)
            except Exception:  # noqa: BLE001 -- a user's code: its mistake must not fail the call it only watches
                _log.exception("an event sink raised")

    def _link(self, event: LinkChanged) -> None:
        if self._servers is not None:
            self._servers.note(event)
        self.failing.note(event)

    def log_of(self, server: str) -> Path | None:
        """The file in which what a server says is kept, if it is."""
        return self._servers.path(server) if self._servers is not None else None

    def remarked(self, server: str, principal: Principal, mask: Mask, params: JsonObject) -> None:
        """Take what a server remarks in the course of its work."""
        self._remarks.hear(server, principal, mask, params)

    def said(self, server: str, principal: Principal, pid: int, line: str) -> None:
        """Take a line that a server wrote to stderr."""
        if self._servers is not None:
            self._servers.said(server, principal, pid, line)
