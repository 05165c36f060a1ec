"""Results of resource, prompt, completion and listing requests, read as outcomes. Pure: no I/O, no clock."""

from collections.abc import Mapping
from typing import Any

from bascule.core.json_types import JsonObject, as_object, is_array, is_object
from bascule.core.outcome import CompletionResult, PageResult, PromptResult, ResourceResult
from bascule.core.sensitivity import Lane
from bascule.wire.tool_result import misshapen, other_kind

MAX_VALUES = 100
"""Completions the protocol allows in one answer."""

Steps = Mapping[str, float]


def take_contents(raw: JsonObject, server: str, uri: str, lane: Lane, steps: Steps) -> ResourceResult:
    """What a resource holds, or `ProtocolViolation`. Nothing of the reply is copied."""
    _complete(raw, server, uri)
    contents = raw.get("contents")
    if not is_array(contents) or not all(map(is_object, contents)):
        raise misshapen("contents is not a list of objects", server, uri, raw)
    return ResourceResult(raw, server, uri, lane, steps)


def take_messages(raw: JsonObject, server: str, prompt: str, lane: Lane, steps: Steps) -> PromptResult:
    """A prompt's messages, or `ProtocolViolation`. Nothing of the reply is copied."""
    _complete(raw, server, prompt)
    messages = raw.get("messages")
    if not is_array(messages) or not all(map(is_object, messages)):
        raise misshapen("messages is not a list of objects", server, prompt, raw)
    return PromptResult(raw, server, prompt, lane, steps)


def take_completion(raw: JsonObject, server: str, subject: str, lane: Lane, steps: Steps) -> CompletionResult:
    """The values an argument can be completed to, or `ProtocolViolation`. Those beyond the limit are left out."""
    _complete(raw, server, subject)
    found = as_object(raw.get("completion"))
    values = found.get("values")
    if not is_array(values) or not all(isinstance(value, str) for value in values):
        raise misshapen("completion.values is not a list of texts", server, subject, raw)
    more = found.get("hasMore") is True or len(values) > MAX_VALUES
    return CompletionResult(raw, server, lane, steps, tuple(values[:MAX_VALUES]), _count(found.get("total")), more)


def take_page(raw: JsonObject, server: str, subject: str, lane: Lane, steps: Steps) -> PageResult:
    """A page as it came. What is on it is the catalog's affair."""
    _complete(raw, server, subject)
    return PageResult(raw, server, lane, steps)


def _complete(raw: JsonObject, server: str, subject: str) -> None:
    kind = raw.get("resultType")
    if kind is not None and kind != "complete":
        raise other_kind(kind, server, subject)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
