"""Errors that the weakincentives bridge raises, as a tree with their codes.

McpError                a family: catch it for all of them
├── McpConnectionError  BSC-711  a server that cannot be reached, or is not connected
├── McpToolError        BSC-712  a call that failed
├── McpTimeoutError     BSC-713  a server that took too long
├── McpSchemaError      BSC-714  a tool that cannot be a tool of the framework
└── McpRunStopped       BSC-715  ends the run in which a tool was called
"""

from typing import Any, NoReturn, override

from weakincentives.prompt import VisibilityExpansionRequired

from bascule.config.model.runtime_config import ServerConfig
from bascule.config.model.transport import Transport
from bascule.core.errors import BasculeError
from bascule.core.failure_action import Reaction, reaction, stopped, told
from bascule.core.outcome import FailureKind, ToolFailure


class McpError(BasculeError):
    """Something about MCP servers and their tools. `failure` is what the runtime tells of it, where that was asked."""

    failure: ToolFailure | None = None


class McpConnectionError(McpError):
    """A server cannot be reached, is lost, or was not connected yet."""

    code = "BSC-711"

    def __init__(
        self, message: str, *, server_name: str, transport: Transport | None = None, evidence: str = "", fix: str = ""
    ) -> None:
        super().__init__(message, where=server_name, evidence=evidence, fix=fix)
        self.server_name = server_name
        self.transport = transport


class McpToolError(McpError):
    """A call failed. `rpc_error` is the error of the protocol that the server answered with, if it did."""

    code = "BSC-712"

    def __init__(
        self, message: str, *, server_name: str, tool_name: str, rpc_error: dict[str, Any] | None = None, fix: str = ""
    ) -> None:
        super().__init__(message, where=tool_name, fix=fix)
        self.server_name = server_name
        self.tool_name = tool_name
        self.rpc_error = rpc_error


class McpTimeoutError(McpError):
    """A server did not answer within `timeout` seconds."""

    code = "BSC-713"

    def __init__(self, message: str, *, server_name: str, timeout: float, fix: str = "") -> None:
        super().__init__(message, where=server_name, fix=fix)
        self.server_name = server_name
        self.timeout = timeout


class McpSchemaError(McpError):
    """A tool cannot be given to the framework, and `reason` says why."""

    code = "BSC-714"

    def __init__(self, message: str, *, server_name: str, tool_name: str, reason: str, fix: str = "") -> None:
        super().__init__(message, where=tool_name, evidence=reason, fix=fix)
        self.server_name = server_name
        self.tool_name = tool_name
        self.reason = reason


class McpRunStopped(McpError, VisibilityExpansionRequired):
    """Ends the run in which a tool was called.

    The framework's executor shows a model every other exception and goes on. `VisibilityExpansionRequired` is the one
    that its adapters carry out of a tool, having undone what the tool changed. The framework's own loop would answer it
    by another run with more sections open; it asks this one which, and gets a `RunStopped`, which it does not answer.
    """

    code = "BSC-715"

    def __init__(self, failure: ToolFailure, tool_name: str) -> None:
        # Both families begin here: neither's own beginning knows of the other.
        Exception.__init__(self, failure.message)
        self.message = failure.message
        ended = stopped(failure)
        self.where, self.evidence, self.cause, self.fix = tool_name, ended.evidence, ended.cause, ended.fix
        self.section_path, self.dataclass_type, self.placeholder = (), None, None
        self.failure = failure
        self.server_name = failure.server
        self.tool_name = tool_name
        self.reason = told(failure)
        # What the executor answers the model with is made of these. Nobody reads on, but a transcript keeps it.
        self.section_keys = (f"none, the run is stopped: {failure.message}",)

    @property
    def requested_overrides(self) -> NoReturn:  # pyright: ignore[reportIncompatibleVariableOverride] -- see above
        assert self.failure is not None
        raise stopped(self.failure) from self

    @override
    def __str__(self) -> str:
        return self.message


def error_of(failure: ToolFailure, about: str, config: ServerConfig, timeout: float | None) -> McpError:
    """What a failed request is at this door, for those who make it themselves."""
    if reaction(failure) is Reaction.STOP:
        return McpRunStopped(failure, about)
    error = _made(failure, about, config, timeout)
    error.failure = failure
    return error


def _made(failure: ToolFailure, about: str, config: ServerConfig, timeout: float | None) -> McpError:
    message, fix = failure.message, failure.fix
    match failure.kind:
        case FailureKind.CONNECTION_ERROR | FailureKind.UNAVAILABLE:
            return McpConnectionError(
                message, server_name=config.name, transport=config.transport, evidence=failure.evidence, fix=fix
            )
        case FailureKind.TIMEOUT:
            seconds = config.timeouts.call if timeout is None else timeout
            return McpTimeoutError(message, server_name=config.name, timeout=seconds, fix=fix)
        case _:
            code = failure.tool_code
            rpc = None if code is None else {"code": code, "message": message, "data": failure.cause}
            words = f"these are the words of {config.name}; `bascule logs {config.name}` shows what it said beside them"
            return McpToolError(message, server_name=config.name, tool_name=about, rpc_error=rpc, fix=fix or words)
