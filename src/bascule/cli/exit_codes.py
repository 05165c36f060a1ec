"""Exit codes of the command, by kind of failure and by class of error."""

from bascule.core.errors import BasculeError, ConfigError, PeerError, Refused, UsageError
from bascule.core.outcome import FailureKind, Result, ToolFailure

OK = 0
TOOL_FAILED = 1
USAGE = 2
UNREACHABLE = 3
DENIED = 4
ABORTED = 130

BY_KIND = {
    FailureKind.TOOL_ERROR: TOOL_FAILED,
    FailureKind.FATAL: TOOL_FAILED,
    FailureKind.TIMEOUT: TOOL_FAILED,
    FailureKind.PROTOCOL_ERROR: TOOL_FAILED,
    FailureKind.INVALID_ARGUMENTS: USAGE,
    FailureKind.UNKNOWN_TOOL: USAGE,
    FailureKind.CONNECTION_ERROR: UNREACHABLE,
    FailureKind.UNAVAILABLE: UNREACHABLE,
    FailureKind.DENIED: DENIED,
    FailureKind.ABORTED: ABORTED,
}


def of_outcome(outcome: Result | ToolFailure) -> int:
    return BY_KIND[outcome.kind] if isinstance(outcome, ToolFailure) else OK


def of_error(error: BasculeError) -> int:
    """The exit code of an error that ended the command itself."""
    if isinstance(error, ConfigError | UsageError):
        return USAGE
    if isinstance(error, Refused):
        return DENIED
    return UNREACHABLE if isinstance(error, PeerError) else TOOL_FAILED
