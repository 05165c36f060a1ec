"""Hands events to whoever wants them, so that no listener can harm what it listens to."""

import logging
from collections.abc import Iterable

from bascule.core.events import Event, Sink

_log = logging.getLogger("bascule.records")


class Recorder:
    """The sinks of one runtime. A sink that raises is logged and the others still hear the event."""

    def __init__(self, sinks: Iterable[Sink] = ()) -> None:
        self._sinks = tuple(sinks)

    def record(self, event: Event) -> None:
        for sink in self._sinks:
            try:
                sink(event)
            except Exception:  # noqa: BLE001 -- a user's code: its mistake must not fail the call it only watches
                _log.exception("an event sink raised")
