"""Results of tool calls in weakincentives: result types with the source server, the `McpToolInvoked` event of each
call, and outputs that a session keeps as a log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal
from uuid import UUID
from weakref import WeakKeyDictionary, WeakSet

from weakincentives.prompt import ToolResult
from weakincentives.runtime.events import Dispatcher, ToolInvoked
from weakincentives.runtime.session import Clear, Session, SlicePolicy

from bascule.core.failure_action import told
from bascule.core.outcome import ToolFailure
from bascule.core.outcome import ToolResult as Answer

Source = Literal["mcp", "native"]


@dataclass(slots=True)
class McpToolResult(ToolResult[Any]):
    """A result of a tool of ours. The framework's own `ToolInvoked` carries it, so whoever hears that can tell."""

    source: Source = "mcp"
    mcp_server: str | None = None


@dataclass(frozen=True, slots=True)
class McpToolOutput:
    """What a tool gave that has no output schema, or none that a dataclass can hold."""

    text: str
    """As the model is shown it."""
    content: tuple[dict[str, Any], ...] = ()
    """The blocks of the answer, as they came."""
    structured: Any = field(default=None)

    def render(self) -> str:
        return self.text


def output_of(answer: Answer) -> McpToolOutput:
    return McpToolOutput(answer.text, tuple(answer.raw.get("content") or ()), answer.structured)


def succeeded(answer: Answer, value: object, server: str | None) -> McpToolResult:
    """The model is shown the text, which keeps to the limits of results; the value, which may be far longer, is for
    programs."""
    return McpToolResult(
        message=answer.text, value=value, exclude_value_from_context=True, source=source_of(server), mcp_server=server
    )


def failed(failure: ToolFailure, server: str | None) -> McpToolResult:
    """The model is shown why, and the framework undoes what the call has changed in the session."""
    return McpToolResult(message=told(failure), value=None, success=False, source=source_of(server), mcp_server=server)


def source_of(server: str | None) -> Source:
    return "native" if server is None else "mcp"


@dataclass(frozen=True, slots=True)
class McpToolInvoked:
    """One call ended. It follows the framework's own `ToolInvoked`, which a call that ends its run does not have."""

    tool_name: str
    params: Mapping[str, Any] | None
    """The arguments as the model gave them."""
    result: McpToolResult
    source: Source
    mcp_server: str | None
    session_id: UUID | None = None
    call_id: str | None = None


_TOLD: WeakSet[Any] = WeakSet()
_TOLD_LOCK = Lock()


def tell_on(dispatcher: Dispatcher) -> None:
    """Have every `ToolInvoked` of a tool of ours followed by ours. Doing so again changes nothing."""
    with _TOLD_LOCK:
        if dispatcher in _TOLD:
            return
        _TOLD.add(dispatcher)

    def follow(event: object) -> None:
        assert isinstance(event, ToolInvoked)
        if isinstance(event.result, McpToolResult):
            dispatcher.dispatch(_ours(event, event.result))

    dispatcher.subscribe(ToolInvoked, follow)


def _ours(event: ToolInvoked, result: McpToolResult) -> McpToolInvoked:
    return McpToolInvoked(
        event.name, event.params, result, result.source, result.mcp_server, event.session_id, event.call_id
    )


@dataclass(frozen=True, slots=True)
class McpOutputsForgotten:
    """`session.dispatch(McpOutputsForgotten())` has a session forget what calls of our tools gave."""


_LOGGED: WeakKeyDictionary[Session, set[type]] = WeakKeyDictionary()
_LOGGED_LOCK = Lock()


def keep_as_log(session: Session, kind: type) -> None:
    """Makes values of this type a log of the session, which a failed call neither copies nor restores. Idempotent.

    The framework keeps every value of a tool in a slice of its type. Before each call it writes out all slices that it
    may have to restore: without the log policy, a thousand results would be written out with every further call.
    """
    with _LOGGED_LOCK:
        known = _LOGGED.setdefault(session, set())
        if kind in known:
            return
        known.add(kind)
    # A reducer of another event: those of the type itself stay the user's, or the framework's own, which keeps all.
    session[kind].register(McpOutputsForgotten, _forgotten, policy=SlicePolicy.LOG)


def _forgotten(_view: Any, _event: Any, *, context: Any) -> Clear[Any]:  # noqa: ARG001 -- all reducers are given it
    return Clear()
