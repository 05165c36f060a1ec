"""Mapping of exceptions to failure values, in one table. An exception that is not in it is a bug."""

from collections.abc import Mapping

from bascule.core.errors import (
    BasculeError,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    InputWanted,
    InvalidArguments,
    LaneClosed,
    LimitReached,
    LoginFailed,
    LoginNeeded,
    NoRoom,
    NotIdentified,
    NotWrittenDown,
    OutcomeWithheld,
    PathRefused,
    PeerRefused,
    PoolTimeout,
    ProtocolViolation,
    Refused,
    ReplyTimeout,
    SandboxError,
    StartFailed,
    StoreError,
    TwinDiffers,
    UnknownPrompt,
    UnknownResource,
    UnknownTool,
    UsageError,
    WorkspaceError,
)
from bascule.core.json_types import JsonObject, as_array, as_object
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.sensitivity import Lane

KINDS: Mapping[type[BasculeError], FailureKind] = {
    ConfigError: FailureKind.UNAVAILABLE,
    UsageError: FailureKind.INVALID_ARGUMENTS,
    UnknownTool: FailureKind.UNKNOWN_TOOL,
    UnknownResource: FailureKind.UNKNOWN_TOOL,
    UnknownPrompt: FailureKind.UNKNOWN_TOOL,
    InvalidArguments: FailureKind.INVALID_ARGUMENTS,
    Refused: FailureKind.DENIED,
    LimitReached: FailureKind.DENIED,
    TwinDiffers: FailureKind.DENIED,
    OutcomeWithheld: FailureKind.DENIED,
    NotIdentified: FailureKind.DENIED,
    NotWrittenDown: FailureKind.DENIED,
    ConnectFailed: FailureKind.CONNECTION_ERROR,
    LoginNeeded: FailureKind.UNAVAILABLE,
    LoginFailed: FailureKind.UNAVAILABLE,
    StartFailed: FailureKind.CONNECTION_ERROR,
    ConnectionLost: FailureKind.CONNECTION_ERROR,
    LaneClosed: FailureKind.CONNECTION_ERROR,
    ReplyTimeout: FailureKind.TIMEOUT,
    ProtocolViolation: FailureKind.PROTOCOL_ERROR,
    PeerRefused: FailureKind.TOOL_ERROR,
    InputWanted: FailureKind.TOOL_ERROR,
    PoolTimeout: FailureKind.UNAVAILABLE,
    SandboxError: FailureKind.UNAVAILABLE,
    WorkspaceError: FailureKind.UNAVAILABLE,
    PathRefused: FailureKind.DENIED,
    NoRoom: FailureKind.UNAVAILABLE,
    StoreError: FailureKind.UNAVAILABLE,
}
"""Every class that can reach the runtime. A class that is missing here fails a test, not a user."""

USUAL_FIXES: Mapping[type[Exception], str] = {
    LaneClosed: "find out whether it was done before you call again: it had been sent",
    ConnectionLost: "find out whether it was done before you call again; `bascule logs {server}` shows what it said",
    ProtocolViolation: "tell whoever makes {server}, with the evidence; another version may keep to the protocol",
    ReplyTimeout: "if {server} is only slow, raise its `timeouts`; `bascule logs {server}` shows what it said",
    ConnectFailed: "run `bascule doctor`, which looks at every part of the way",
    SandboxError: "run `bascule doctor`, which looks at what makes boxes",
    StoreError: "run `bascule doctor`, which looks at the state folder",
}
"""For errors that are raised in many places, where one of these says nothing of its own."""

ABORTED = "BSC-703"

URL_ELICITATION_REQUIRED = -32042
"""The server wants a person to go to an address first. The old era's way of saying so."""

MOST_ADDRESSES = 5
"""Addresses shown of those a server sends a person to."""

VISIT = "if you trust the server, open the address in a browser, then call again"

BUSY_STATUSES = frozenset({429, 502, 503, 504})
"""HTTP answers that come from before the server, or from one that is too busy to look at the request."""

RETRIABLE = frozenset({FailureKind.CONNECTION_ERROR, FailureKind.TIMEOUT, FailureKind.UNAVAILABLE})
"""Kinds that may pass by themselves. So does a limit, which is of another kind: waiting is all it takes."""


def failure_of(
    error: BasculeError,
    server: str,
    tool: str,
    lane: Lane,
    steps: Mapping[str, float],
    raw: JsonObject | None = None,
) -> ToolFailure:
    """The failure an error stands for. `raw` is the reply that led to it, if one came."""
    kind = kind_of(error)
    refused = error if isinstance(error, PeerRefused) else None
    cause = refused.data if refused is not None else raw if raw is not None else error.cause or None
    return ToolFailure(
        kind=kind,
        code=error.code,
        message=error.message,
        server=server,
        tool=tool,
        lane=lane,
        steps=steps,
        tool_code=refused.rpc_code if refused is not None else None,
        retriable=_may_pass(error, kind),
        cause=cause,
        evidence="\n".join(filter(None, (_by_rule(error), _over_http(refused), *_to_visit(refused), error.evidence))),
        fix=error.fix or usual_fix(error, server),
        status=refused.status if refused is not None else None,
        retry_after=_retry_after(error),
    )


def _may_pass(error: BasculeError, kind: FailureKind) -> bool:
    # A config stays wrong until somebody corrects it.
    return (kind in RETRIABLE and not isinstance(error, ConfigError)) or isinstance(error, LimitReached)


def usual_fix(error: BasculeError, server: str) -> str:
    """What to do about an error that says nothing of it itself."""
    if isinstance(error, PeerRefused):
        return VISIT if error.rpc_code == URL_ELICITATION_REQUIRED else ""
    if isinstance(error, ConnectionLost) and not error.sent:
        return f"call again, nothing was sent; `bascule logs {server}` shows what the server said"
    fix = next((USUAL_FIXES[cls] for cls in type(error).__mro__ if cls in USUAL_FIXES), "")
    return fix.format(server=server)


def _by_rule(error: BasculeError) -> str:
    return f"rule: {error.rule}" if isinstance(error, Refused) else ""


def _retry_after(error: BasculeError) -> str:
    """When to come back, as HTTP says it."""
    if isinstance(error, LimitReached | StoreError):
        return "" if error.retry_after is None else str(error.retry_after)
    return error.headers.get("Retry-After", "") if isinstance(error, PeerRefused) else ""


def _to_visit(refused: PeerRefused | None) -> list[str]:
    """Addresses that a server sends a person to before it does the request, for the evidence."""
    return [] if refused is None or refused.rpc_code != URL_ELICITATION_REQUIRED else visits(refused.data)


def visits(data: object) -> list[str]:
    """Addresses in the data of such an error, each with the words of the server, for the evidence."""
    asked = [as_object(one) for one in as_array(as_object(data).get("elicitations"))[:MOST_ADDRESSES]]
    return [f"{str(one.get('url', ''))[:500]} ({str(one.get('message', ''))[:200]})" for one in asked]


def _over_http(refused: PeerRefused | None) -> str:
    """What HTTP said beside the error: the status, and the headers that tell what to do about it."""
    if refused is None or refused.status is None:
        return ""
    return ", ".join([f"HTTP {refused.status}", *(f"{name}: {value}" for name, value in refused.headers.items())])


def broken(mistake: BaseException, server: str, tool: str, lane: Lane, steps: Mapping[str, float]) -> ToolFailure:
    """What the event tells of a call that ended by a mistake of ours. Its text may hold anything, so it is left out."""
    message = f"nobody foresaw this: {type(mistake).__name__}"
    fix = "look at the exception that came out of the call; if its traceback ends in Bascule's own code, tell us"
    return ToolFailure(FailureKind.FATAL, BasculeError.code, message, server, tool, lane, steps, fix=fix)


def aborted(server: str, tool: str, lane: Lane, steps: Mapping[str, float]) -> ToolFailure:
    fix = "if it was not meant to stop: let whoever called wait longer than its `timeout`"
    message = "the caller stopped waiting"
    return ToolFailure(FailureKind.ABORTED, ABORTED, message, server, tool, lane, steps, fix=fix)


def kind_of(error: BasculeError) -> FailureKind:
    if isinstance(error, PeerRefused) and error.status in BUSY_STATUSES:
        return FailureKind.UNAVAILABLE
    return next(KINDS[cls] for cls in type(error).__mro__ if cls in KINDS)
