"""How a request ended: a result or a failure, always as a value."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from bascule.core.rendering import Style, render
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


class ToolFailure(msgspec.Struct, frozen=True):
    """Why a request has no result. `cause` is the structured content the tool sent with its error, whole."""

    kind: FailureKind
    code: str
    message: str
    server: str = ""
    tool: str = ""
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
    """When to come back, in the server's words: seconds or a date."""

    @property
    def ok(self) -> bool:
        return False


Outcome = ToolResult | ToolFailure
