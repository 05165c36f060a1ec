"""An error with which a tool wants the whole run to end: how a result says so."""

from msgspec.structs import replace

from bascule.core.json_types import JsonObject, as_object
from bascule.core.outcome import FailureKind, ToolFailure

FATAL_KEY = "dev.bascule/fatal"
"""In a result's `_meta`, with the value true."""

PREFIX = "[FATAL] "
"""Before the words of the error, for clients that show them and read no `_meta`."""


def read_fatal(failure: ToolFailure, raw: JsonObject) -> ToolFailure:
    """The failure as fatal if the result says so in either way, else as it is. Only for a server that is believed."""
    if as_object(raw.get("_meta")).get(FATAL_KEY) is not True and not failure.message.startswith(PREFIX):
        return failure
    return replace(failure, kind=FailureKind.FATAL, message=failure.message.removeprefix(PREFIX), retriable=False)
