"""Feed entry of one request that has ended: principal, tool, time and outcome. No value and no free text."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bascule.core.events import RequestEnded, ToolInvoked
from bascule.core.json_types import is_array, is_object
from bascule.core.outcome import ToolFailure
from bascule.core.principal import Principal

TOOL_CALL = "tools/call"

OK = "ok"

MOST_BLOCKS = 8
"""Blocks of a result whose shapes are kept."""

KINDS = frozenset({"text", "image", "audio", "resource", "resource_link"})
"""Blocks of the protocol. What a server calls a block otherwise is its own word."""


class Details(msgspec.Struct, frozen=True, array_like=True):
    """What only who looks at one call wants to see."""

    steps: dict[str, float]
    arguments: dict[str, str]
    """The shape of each."""
    result: tuple[str, ...]

    def packed(self) -> bytes:
        """All of it in one small object: thousands of calls are kept, and few are ever looked at."""
        try:
            return _pack(self)
        except UnicodeEncodeError:
            # A program may name an argument by what is no text at all.
            named = {name.encode("utf-8", "replace").decode(): shape for name, shape in self.arguments.items()}
            return _pack(msgspec.structs.replace(self, arguments=named))


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Details).decode


class CallNote(msgspec.Struct, gc=False):
    """One of them. What the caller wrote is still as it came until somebody looks at it."""

    seq: int
    principal: Principal
    name: str
    server: str
    method: str
    lane: str
    outcome: str
    """`ok`, or the kind of the failure."""
    code: str
    rule: str
    seconds: float
    at: float
    """When it ended."""
    packed: bytes
    """Its `details`."""
    message: str = ""
    """Of the rule that refused it."""
    fix: str = ""
    findings: int = 0
    local: str = ""
    remote: str = ""
    noted: int = 0
    trace: str = ""
    clean: bool = False
    """Whether nothing is left of what the caller could write freely."""

    @property
    def failed(self) -> bool:
        return self.outcome != OK

    @property
    def details(self) -> Details:
        return _unpack(self.packed)


def note_of(event: ToolInvoked | RequestEnded, seq: int) -> CallNote:
    outcome = event.outcome
    name, method = (event.tool, TOOL_CALL) if isinstance(event, ToolInvoked) else (event.subject, event.method)
    failure = outcome if isinstance(outcome, ToolFailure) else None
    result = () if isinstance(outcome, ToolFailure) else shapes_of(outcome.raw)
    note = CallNote(
        seq,
        event.principal,
        name,
        event.server,
        method,
        event.lane,
        OK if failure is None else failure.kind,
        "" if failure is None else failure.code,
        event.rule,
        event.seconds,
        event.at,
        Details(dict(event.steps.items()), dict(event.arguments), result).packed(),
        findings=len(event.findings),
        local=event.local,
        remote=event.remote,
        noted=event.noted,
    )
    if failure is not None and event.rule:
        note.message, note.fix = failure.message, failure.fix
    if event.span is not None and event.span.context is not None:
        note.trace = f"{event.span.context.trace_id:032x}"
    return note


def shapes_of(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Each block of a reply by its shape. How long it is on the wire nobody has counted; how long its text is, is known
    without looking at it."""
    blocks: list[Any] | None = raw.get("content") or raw.get("contents") or raw.get("messages")
    shapes: list[str] = []
    if isinstance(blocks, list):
        shapes += map(_block, blocks[:MOST_BLOCKS])
        if len(blocks) > MOST_BLOCKS:
            shapes.append(f"… {len(blocks) - MOST_BLOCKS} more")
    structured = raw.get("structuredContent")
    if structured is not None:
        shapes.append(f"structured: {_container(structured)}")
    return tuple(shapes)


def _block(block: Any) -> str:
    if not is_object(block):
        return "value"
    text = block.get("text")
    if isinstance(text, str):
        return f"text[{len(text)}]"
    kind, data = block.get("type"), block.get("data") or block.get("blob")
    named = kind if kind in KINDS else "block"
    return f"{named}[{len(data)}]" if isinstance(data, str) else named


def _container(value: Any) -> str:
    if is_object(value):
        return f"object[{len(value)}]"
    return f"array[{len(value)}]" if is_array(value) else type(value).__name__
