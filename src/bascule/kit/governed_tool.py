"""Tool of a kit server as it is run: admission before the call, and the sensitivity label on its result. Failures
become results with text, structured content and `_meta`."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from fastmcp.exceptions import FastMCPError, ValidationError
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from pydantic import Field
from pydantic import ValidationError as PydanticValidationError
from pydantic.json_schema import SkipJsonSchema

from bascule.core.errors import Refused, UsageError, WorkspaceError
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.admission import Admission
from bascule.kit.errors import ToolFatalError, ToolRetryError
from bascule.kit.permission import PERMISSIONS_KEY, in_words
from bascule.sensitivity.private_data import LABELS_KEY
from bascule.wire.results import FATAL_KEY, PREFIX

_logger = logging.getLogger(__name__)

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


Run = Callable[[dict[str, Any]], Awaitable[ToolResult]]


class GovernedTool(Tool):
    """A tool, and what it may do."""

    inner: SkipJsonSchema[Tool] = Field(exclude=True)
    admission: SkipJsonSchema[Any] = Field(exclude=True)
    permissions: SkipJsonSchema[frozenset[Permission]] = Field(exclude=True)

    @classmethod
    def of(cls, tool: Tool, permissions: frozenset[Permission], admission: Admission) -> "GovernedTool":
        fields = {name: getattr(tool, name) for name in Tool.model_fields}
        fields["meta"] = {**(tool.meta or {}), PERMISSIONS_KEY: in_words(permissions)}
        return cls(**fields, inner=tool, admission=admission, permissions=permissions)

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        admission: Admission = self.admission
        result = await self._admitted(admission, arguments)
        level = admission.seen()
        return result if level is DataSensitivity.PUBLIC else _labelled(result, level)

    async def _admitted(self, admission: Admission, arguments: dict[str, Any]) -> ToolResult:
        try:
            await admission.admit(self.name, self.permissions)
        except Refused as error:
            if error.__cause__ is not None:
                _logger.exception("%s: %s", self.name, error.message, exc_info=error.__cause__)
            return refused(error)
        # Not `run`: tools that are served in another way than by running a function say so in this one.
        return await _told(self.inner._run, arguments)  # noqa: SLF001


async def _told(run: Run, arguments: dict[str, Any]) -> ToolResult:
    """What came of it. What a tool is meant to say goes to the client in its own words; what it did not mean to raise
    goes on, and is masked by whoever serves it."""
    try:
        return await run(arguments)
    except ToolRetryError as error:
        return retryable(error.message, error.code)
    except ToolFatalError as error:
        return fatal(error.message, error.code)
    except (UsageError, WorkspaceError) as error:
        return retryable(f"{error.message}; {error.fix}" if error.fix else error.message, error.code)
    except Refused as error:
        return refused(error)
    except FastMCPError as error:
        return failed(error)
    except PydanticValidationError as error:
        # FastMCP takes it for a mistake of the client, and shows what it says; it quotes the data it was raised over.
        raise RuntimeError("what the tool worked with is not of the shape that it wants") from error


def _labelled(result: ToolResult, level: DataSensitivity) -> ToolResult:
    """With how private the agent session is now: whoever gets the result may know less than we do."""
    labels = {LABELS_KEY: [level.name.lower()]}
    if isinstance(result, InputRequiredToolResult):
        # Of a question to the client, nothing but the question itself is sent.
        asked = result.input_required
        return InputRequiredToolResult(asked.model_copy(update={"meta": {**(asked.meta or {}), **labels}}))
    return result.model_copy(update={"meta": {**(result.meta or {}), **labels}})
