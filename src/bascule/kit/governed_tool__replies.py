"""Results that say what should become of a failed call: in their words, in their structured content, and in `_meta`."""

from typing import Any

from fastmcp.exceptions import FastMCPError, ValidationError
from fastmcp.tools.base import ToolResult

from bascule.core.errors import Refused
from bascule.wire.tool_result import FATAL_KEY, PREFIX

RETRY_KEY = "dev.bascule/retry"
"""In a result's `_meta`, with the value true: the model can correct itself and call again."""


def retryable(message: str, code: str | int | None = None) -> ToolResult:
    return _failure(message, code, retriable=True, meta={RETRY_KEY: True})


def fatal(message: str, code: str | int | None = None) -> ToolResult:
    return _failure(PREFIX + message, code, retriable=None, meta={FATAL_KEY: True})


def refused(error: Refused) -> ToolResult:
    words = f"{error.message}; {error.fix}" if error.fix else error.message
    return _failure(words, error.code, retriable=False, meta=None)


def failed(error: FastMCPError) -> ToolResult:
    """An error that a tool raised as FastMCP's own, or that was found in its arguments, which a model can mend."""
    if isinstance(error, ValidationError):
        return retryable(str(error))
    return ToolResult(content=str(error), is_error=True)


def _failure(
    message: str, code: str | int | None, *, retriable: bool | None, meta: dict[str, Any] | None
) -> ToolResult:
    structured: dict[str, Any] = {"message": message}
    if code is not None:
        structured["code"] = code
    if retriable is not None:
        structured["retriable"] = retriable
    return ToolResult(content=message, structured_content=structured, meta=meta, is_error=True)
