"""Outcome of a request: a result or a failure, always as a value."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from bascule.core.errors import InputWanted
from bascule.core.json_types import as_text
from bascule.core.rendering import Style, render, render_block, render_contents
from bascule.core.sensitivity import Lane


class FailureKind(StrEnum):
    """Every way a call can fail. The set is closed: bridges map each kind to their framework's own signal."""

    CONNECTION_ERROR = "connection_error"
    TIMEOUT = "timeout"
    ABORTED = "aborted"
    DENIED = "denied"
    INVALID_ARGUMENTS = "invalid_arguments"
    UNKNOWN_TOOL = "unknown_tool"
    TOOL_ERROR = "tool_error"
    FATAL = "fatal"
    PROTOCOL_ERROR = "protocol_error"
    UNAVAILABLE = "unavailable"


class ToolResult(msgspec.Struct, frozen=True, dict=True):
    """What a tool gave back. `raw` is the reply as it was parsed; the rest is read from it on first use."""

    raw: dict[str, Any]
    server: str
    tool: str
    lane: Lane
    steps: Mapping[str, float]
    """Seconds spent in each step."""
    style: Style = "yaml"

    @property
    def ok(self) -> bool:
        return True

    @property
    def structured(self) -> Any:
        return self.raw.get("structuredContent")

    @cached_property
    def text(self) -> str:
        """Rendered for a model."""
        return render(self.raw, self.style)

    @cached_property
    def content(self) -> list[Any]:
        """The content blocks as the SDK's own types."""
        from mcp_types import CallToolResult  # noqa: PLC0415 -- half a second, and most callers only want text

        return CallToolResult.model_validate({"content": self.raw.get("content", [])}).content


class TaskResult(ToolResult, frozen=True, dict=True):
    """How a task stands that a call has led to. What it brought at its end is `raw`, or `failure`."""

    name: str = ""
    """The name by which the tool was called."""
    task_id: str = ""
    """The server's own id of it."""
    task: dict[str, Any] = {}
    """How it stands, in the protocol's words."""
    failure: "ToolFailure | None" = None


class ResourceResult(msgspec.Struct, frozen=True, dict=True):
    """What a resource holds. `raw` is the reply as it was parsed."""

    raw: dict[str, Any]
    server: str
    uri: str
    lane: Lane
    steps: Mapping[str, float]

    @property
    def ok(self) -> bool:
        return True

    @property
    def contents(self) -> list[dict[str, Any]]:
        """Each with its `uri`, and `text` or, in base64, `blob`."""
        return self.raw["contents"]

    @cached_property
    def text(self) -> str:
        """Rendered for a model."""
        return "\n".join(render_contents(part) for part in self.contents)


class PromptResult(msgspec.Struct, frozen=True, dict=True):
    """A prompt filled in: messages to begin a conversation with."""

    raw: dict[str, Any]
    server: str
    prompt: str
    """The server's own name for it."""
    lane: Lane
    steps: Mapping[str, float]

    @property
    def ok(self) -> bool:
        return True

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Each with its `role` and its `content`, one block."""
        return self.raw["messages"]

    @property
    def description(self) -> str:
        return as_text(self.raw.get("description")) or ""

    @cached_property
    def text(self) -> str:
        """Rendered for a person to read."""
        return "\n\n".join(f"{said.get('role')}: {render_block(said.get('content'))}" for said in self.messages)


class CompletionResult(msgspec.Struct, frozen=True):
    """What an argument could be completed to."""

    raw: dict[str, Any]
    server: str
    lane: Lane
    steps: Mapping[str, float]
    values: tuple[str, ...]
    """At most a hundred."""
    total: int | None = None
    has_more: bool = False

    @property
    def ok(self) -> bool:
        return True


class PageResult(msgspec.Struct, frozen=True):
    """One page of a listing."""

    raw: dict[str, Any]
    server: str
    lane: Lane
    steps: Mapping[str, float]

    @property
    def ok(self) -> bool:
        return True


class ToolFailure(msgspec.Struct, frozen=True):
    """Why a request has no result. `cause` is the structured content the tool sent with its error, whole."""

    kind: FailureKind
    code: str
    message: str
    server: str = ""
    tool: str = ""
    """What the request was about, in the server's own name: a tool, a prompt, or a resource's URI."""
    lane: Lane = Lane.OPEN
    steps: Mapping[str, float] = {}
    tool_code: str | int | float | None = None
    retriable: bool | None = None
    cause: Any = None
    evidence: str = ""
    fix: str = ""
    status: int | None = None
    """The HTTP status the failure came with, if it came over HTTP."""
    retry_after: str = ""
    """When to come back: seconds, or a date where a server said so."""

    @property
    def ok(self) -> bool:
        return False

    @property
    def asks(self) -> bool:
        """Whether nothing has failed yet: the server first wants answers, which are given with another request. Only
        where whoever answers wants it so (`Respondent.passes_on`)."""
        return self.code == InputWanted.code


Outcome = ToolResult | ToolFailure
"""Of a tool call."""

Result = ToolResult | ResourceResult | PromptResult | CompletionResult | PageResult
"""Of any request that went well."""
