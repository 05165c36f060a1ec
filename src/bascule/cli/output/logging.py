"""Log output of commands that serve: text for a person or JSON lines for a program, with secrets masked."""

import argparse
import io
import logging
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO

import msgspec

from bascule.core.errors import UsageError
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


VARIABLE = "BASCULE_LOG"
TEXT, JSON = "text", "json"

_said = logging.getLogger("bascule.said")


class Masking:
    """Takes secrets out of texts, as soon as it is known what is secret."""

    def __init__(self) -> None:
        self.mask: Callable[[str], str] | None = None

    def __call__(self, text: str) -> str:
        return text if self.mask is None else self.mask(text)


class TextLines(logging.Formatter):
    """The same for a person."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        return self._mask(super().format(record))


class _Said(io.TextIOBase):
    """Stands for stderr: what is printed there is logged."""

    def __init__(self) -> None:
        self._text = ""

    def write(self, text: str, /) -> int:
        self._text += text
        if text.endswith("\n"):
            told, self._text = self._text.rstrip("\n"), ""
            if told:
                _said.info("%s", told)
        return len(text)

    def writable(self) -> bool:
        return True


def wanted(options: argparse.Namespace) -> str:
    """What the command says, else the environment. Raises `UsageError`."""
    choice = options.log or os.environ.get(VARIABLE) or TEXT
    if choice not in {TEXT, JSON}:
        raise UsageError(f"{VARIABLE} is neither {TEXT} nor {JSON}", fix=f"set it to {JSON}, or unset it")
    return choice


@contextmanager
def speaking(choice: str, masking: Masking) -> Generator[None]:
    """Within it, all that is logged goes to stderr as it was chosen; and so does what is printed there."""
    stderr: TextIO = sys.stderr
    handler = logging.StreamHandler(stderr)
    handler.setFormatter(JsonLines(masking) if choice == JSON else TextLines(masking))
    root = logging.getLogger()
    root.addHandler(handler)
    level = _said.level
    if choice == JSON:
        _said.setLevel(logging.INFO)
        sys.stderr = _Said()
    try:
        yield
    finally:
        sys.stderr = stderr
        _said.setLevel(level)
        root.removeHandler(handler)
