"""Events as a runtime tells them, made by hand."""

from typing import Any

from bascule.core.events import LinkChanged, RequestEnded, ToolInvoked
from bascule.core.outcome import FailureKind, PromptResult, ToolFailure, ToolResult
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.core.trace_context import Span, TraceContext

ALICE = Principal("alice", "s-1")

PARENT = TraceContext(0xA, 0xB, state="x=1")
OWN = TraceContext(0xA, 0xC, state="x=1")


def span() -> Span:
    return Span(None, OWN, PARENT, "2026-07-28", "stdio")


def called(outcome: Any = None, **changes: Any) -> ToolInvoked:
    """A call of `work_act` that went well, unless something is changed."""
    done = outcome or ToolResult({}, "work", "act", Lane.OPEN, {})
    told: dict[str, Any] = {
        "arguments": {},
        "steps": {"send": 0.25},
        "at": 1000.0,
        "seconds": 0.5,
        "span": span(),
        **changes,
    }
    return ToolInvoked(told.pop("tool", "work_act"), told.pop("server", "work"), ALICE, Lane.OPEN, done, **told)


def asked(method: str, subject: str, outcome: Any = None, **changes: Any) -> RequestEnded:
    done = outcome or PromptResult({}, "work", "greet", Lane.OPEN, {})
    told: dict[str, Any] = {"arguments": {}, "steps": {}, "at": 1000.0, "seconds": 0.5, "span": span(), **changes}
    return RequestEnded(method, subject, told.pop("server", "work"), ALICE, Lane.OPEN, done, **told)


def failure(kind: FailureKind = FailureKind.TIMEOUT, code: str = "BSC-403", **changes: Any) -> ToolFailure:
    return ToolFailure(kind, code, "hunter22", "work", "act", **changes)


def link(state: str, **changes: Any) -> LinkChanged:
    who = changes.pop("principal", ALICE)
    return LinkChanged(changes.pop("server", "work"), Lane.OPEN, who, state, "hunter22", 1000.0, **changes)
