import json
import logging
import sys
from typing import Any

from bascule.core.trace_context import CURRENT_SPAN, Span, TraceContext
from bascule.records.json_log import LONGEST, JsonLines


def line(message: str, *args: object, mask: Any = str, **changes: Any) -> dict[str, Any]:
    record = logging.LogRecord("bascule.x", logging.WARNING, "f", 1, message, args, changes.pop("exc_info", None))
    record.created = 0.5
    vars(record).update(changes)
    written = JsonLines(mask).format(record)
    assert "\n" not in written
    return json.loads(written)


def test_a_line_tells_when_how_grave_where_and_what():
    assert line("a %s\nb", 1) == {
        "time": "1970-01-01T00:00:00.500+00:00",
        "level": "warning",
        "logger": "bascule.x",
        "message": "a 1\nb",
    }


def test_it_tells_of_which_call_it_is():
    CURRENT_SPAN.set(Span(None, TraceContext(0xA, 0xB)))
    try:
        told = line("x", server="files")
    finally:
        CURRENT_SPAN.set(None)
    assert (told["trace_id"], told["span_id"], told["server"]) == (f"{0xA:032x}", f"{0xB:016x}", "files")


def test_what_went_wrong_is_on_the_same_line_and_secrets_are_on_none():
    try:
        raise ValueError("hunter22")
    except ValueError:
        told = line("hunter22", exc_info=sys.exc_info(), mask=lambda text: text.replace("hunter22", "***"))
    assert told["message"] == "***"
    assert told["error"].endswith("ValueError: ***")


def test_odd_and_endless_texts_are_written_too():
    assert line("\ud800")["message"] == "\\ud800"
    assert len(line("x" * LONGEST * 2)["message"]) == LONGEST
