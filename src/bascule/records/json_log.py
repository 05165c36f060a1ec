"""JSON formatter for Python logging: one object a line, with its trace. Separate from the command line, because a
program that embeds the runtime can use it too."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from bascule.core.trace_context import CURRENT_SPAN

LONGEST = 16 * 1024
"""Characters of a message, and of a traceback. A line that never ends helps nobody."""

_encode = msgspec.json.Encoder().encode


def _as_it_is(text: str) -> str:
    return text


class JsonLines(logging.Formatter):
    """Writes a record as one line. `mask` takes secrets out of it: whoever logs an error may not know what is in it."""

    def __init__(self, mask: Callable[[str], str] = _as_it_is) -> None:
        super().__init__()
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._told(record.getMessage())[:LONGEST],
        }
        span = CURRENT_SPAN.get()
        if span is not None and span.context is not None:
            line["trace_id"] = f"{span.context.trace_id:032x}"
            line["span_id"] = f"{span.context.span_id:016x}"
        server = getattr(record, "server", None)
        if isinstance(server, str):
            line["server"] = server
        if record.exc_info:
            line["error"] = self._told(self.formatException(record.exc_info))[-LONGEST:]
        return _encode(line).decode()

    def _told(self, text: str) -> str:
        # Half a pair is no text that JSON can say.
        return self._mask(text).encode("utf-8", "backslashreplace").decode()
