"""What a call gives back: the framework's result, with where it came from, and a value for tools that promise none."""

from dataclasses import dataclass, field
from typing import Any, Literal

from weakincentives.prompt import ToolResult

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
