"""Events of the runtime, as frozen data. A sink is any callable that takes one."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from bascule.core.errors import BasculeError
from bascule.core.json_types import is_array, is_object
from bascule.core.outcome import Outcome, Result, ToolFailure
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Change
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.trace_context import Span
from bascule.core.undo.transaction import Ending, Remote


class ToolInvoked(msgspec.Struct, frozen=True, gc=False):
    """One call ended, whichever way. There is exactly one of these per call."""

    tool: str
    """The name the caller used."""
    server: str
    principal: Principal
    lane: Lane
    outcome: Outcome
    arguments: Mapping[str, str]
    """Each argument by its shape, never its value."""
    steps: Mapping[str, float]
    at: float
    """Seconds since the epoch when the call ended."""
    findings: tuple[str, ...] = ()
    """What was odd about the reply and changed nothing, and whether the call was sent more than once."""
    local: Ending = Ending.NOTHING
    """What became of what the call changed on our side."""
    remote: Remote = Remote.NONE
    seconds: float = 0.0
    """From the call until it ended."""
    rule: str = ""
    """The rule that refused it, if one did."""
    noted: int = 0
    """The number of the record in the audit log that was written before it was sent, if one was."""
    source: Literal["mcp", "native"] = "mcp"
    span: Span | None = None
    """Its place in a trace, where there is telemetry."""


class RequestEnded(msgspec.Struct, frozen=True):
    """A request other than a tool call ended, whichever way. There is exactly one of these per request."""

    method: str
    subject: str
    """What it was about, as the caller named it."""
    server: str
    principal: Principal
    lane: Lane
    outcome: Result | ToolFailure
    arguments: Mapping[str, str]
    """Each argument by its shape, never its value."""
    steps: Mapping[str, float]
    at: float
    findings: tuple[str, ...] = ()
    local: Ending = Ending.NOTHING
    remote: Remote = Remote.NONE
    seconds: float = 0.0
    rule: str = ""
    noted: int = 0
    span: Span | None = None


class CallUndone(msgspec.Struct, frozen=True):
    """What a call had changed on our side was not undone when it failed, because its server might still have been at
    it. Now that the link has ended, it was."""

    tool: str
    """The name the caller used."""
    server: str
    principal: Principal
    local: Ending
    problems: tuple[str, ...]
    """What could not be undone."""
    at: float


class QuestionAnswered(msgspec.Struct, frozen=True):
    """A server asked something in the middle of a request, and this became of it. What was said is not here."""

    method: str
    server: str
    principal: Principal
    lane: Lane
    answer: str
    """`accept`, `decline`, `cancel`, `sampled`, `listed`, or `refused`."""
    reason: str
    """Why it was refused."""
    at: float
    findings: tuple[str, ...] = ()
    """Parts of the request that were removed before it was delivered."""


class HostAsked(msgspec.Struct, frozen=True):
    """A server in a proxied box asked the egress proxy for a host. A tunnel is told twice: when it is open, and when it
    has ended."""

    server: str
    principal: Principal
    host: str
    """As it was asked for. Where it was refused, it may be any text."""
    port: int | None
    refused: str
    """Why the proxy did not let it through, in a word. Empty if it did."""
    status: int
    sent: int
    """Bytes that left the box for it."""
    received: int
    ended: bool
    at: float


class LevelChanged(msgspec.Struct, frozen=True):
    """The level of an agent session was changed by this runtime, and every other has heard of it."""

    principal: Principal
    change: Change
    before: DataSensitivity
    after: DataSensitivity
    cause: Cause
    closed: tuple[str, ...]
    """The links that were closed for it, each by its server and lane."""
    twins: Mapping[str, str]
    """What serves each server's tools from then on."""
    at: float


class LevelFollowed(msgspec.Struct, frozen=True):
    """The level of an agent session was changed by another runtime, or by an operator, and this one follows."""

    principal: Principal
    level: DataSensitivity
    at: float


class WorkspacesMarked(msgspec.Struct, frozen=True):
    """Workspaces that are older than level marks got theirs, at the first start with this store."""

    count: int
    at: float


class PersonAsked(msgspec.Struct, frozen=True):
    """A call waits for a person to agree. What it would send is not here."""

    tool: str
    """The name the caller used."""
    server: str
    principal: Principal
    until: float
    """When it is refused unless somebody has answered."""
    at: float


class PersonAnswered(msgspec.Struct, frozen=True):
    """What became of a call that waited for a person."""

    tool: str
    server: str
    principal: Principal
    answer: Literal["agreed", "refused", "nobody"]
    """`nobody`: no answer came in time, or whoever waited for it has left."""
    by: str
    """Who answered: `program` for its callback, or `operator` with a name. Empty for nobody."""
    at: float


class ToolsApproved(msgspec.Struct, frozen=True):
    """An operator has approved tools of a server as they are now, through a running runtime."""

    server: str
    tools: tuple[str, ...]
    by: str
    at: float


class LinkChanged(msgspec.Struct, frozen=True):
    """A link moved from one state to another."""

    server: str
    lane: Lane
    principal: Principal
    state: str
    reason: str
    at: float
    code: str = ""
    """That of the failure, if it ended by one."""
    lived: float | None = None
    """Seconds for which it was of use, once it has ended. None: it never was, or still is."""


class CatalogChanged(msgspec.Struct, frozen=True):
    """A server's listing became another one."""

    server: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    at: float
    findings: tuple[str, ...] = ()
    """What its new and changed texts hide, or say to the model."""
    kind: Literal["tools", "resources", "prompts"] = "tools"
    """What was listed."""


class ToolsQuarantined(msgspec.Struct, frozen=True):
    """Tools of a server are no longer as they were approved, or are so again. By the server's own names."""

    server: str
    tools: tuple[str, ...]
    """Those that agents neither see nor call from now on."""
    released: tuple[str, ...]
    at: float


class RefreshFailed(msgspec.Struct, frozen=True):
    """A server's tools could not be listed anew. What it listed before is kept."""

    server: str
    lane: Lane
    principal: Principal
    reason: str
    at: float


class ConfigApplied(msgspec.Struct, frozen=True):
    """The config's file was edited, and this was done about it. Servers that are not named were not touched."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    restarted: tuple[str, ...]
    """Those that are reached or started in another way than before."""
    retuned: tuple[str, ...]
    """Those that run on, under other rules."""
    notes: tuple[str, ...]
    """What was asked and not done, and what is worth telling."""
    at: float


class ConfigRejected(msgspec.Struct, frozen=True):
    """The config's file was edited and cannot be used as it is. Nothing was changed."""

    error: BasculeError
    at: float


Event = (
    ToolInvoked
    | RequestEnded
    | CallUndone
    | QuestionAnswered
    | HostAsked
    | LevelChanged
    | LevelFollowed
    | WorkspacesMarked
    | PersonAsked
    | PersonAnswered
    | ToolsApproved
    | LinkChanged
    | CatalogChanged
    | ToolsQuarantined
    | RefreshFailed
    | ConfigApplied
    | ConfigRejected
)
Sink = Callable[[Any], None]


_SHORT = tuple(f"string[{length}]" for length in range(256))
"""The shapes of most texts. Every call tells its arguments' shapes, and to write one takes longer than to find it."""


def shape_of(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Arguments without their values, so that an event can be kept where the values may not be."""
    shapes: dict[str, str] = {}
    for name, value in arguments.items():
        # Not a comprehension: in Python 3.11 that is a call, which takes as long as all of this.
        shapes[name] = _SHORT[len(value)] if type(value) is str and len(value) < 256 else _shape(value)
    return shapes


def _shape(value: Any) -> str:
    if isinstance(value, str):
        return f"string[{len(value)}]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if is_array(value):
        return f"array[{len(value)}]"
    return f"object[{len(value)}]" if is_object(value) else type(value).__name__
