from typing import Any

import pytest
from weakincentives.prompt import VisibilityExpansionRequired

from bascule.bridges.weakincentives.errors import (
    McpConnectionError,
    McpError,
    McpRunStopped,
    McpTimeoutError,
    McpToolError,
    error_of,
)
from bascule.config import ServerConfig, StdioTransport, Timeouts
from bascule.core.errors import BasculeError
from bascule.core.failure_action import RunStopped
from bascule.core.outcome import FailureKind, ToolFailure

CONFIG = ServerConfig("work", StdioTransport(command="x"), timeouts=Timeouts(call=7))


def failing(kind: FailureKind, **more: Any) -> ToolFailure:
    return ToolFailure(kind, "BSC-1", "it went wrong", "work", "act", fix="mend it", **more)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FailureKind.CONNECTION_ERROR, McpConnectionError),
        (FailureKind.UNAVAILABLE, McpConnectionError),
        (FailureKind.TIMEOUT, McpTimeoutError),
        (FailureKind.TOOL_ERROR, McpToolError),
        (FailureKind.DENIED, McpToolError),
        (FailureKind.INVALID_ARGUMENTS, McpToolError),
        (FailureKind.UNKNOWN_TOOL, McpToolError),
        (FailureKind.PROTOCOL_ERROR, McpToolError),
        (FailureKind.FATAL, McpRunStopped),
        (FailureKind.ABORTED, McpRunStopped),
    ],
)
def test_every_failure_is_one_of_the_family(kind: FailureKind, error: type[McpError]):
    failure = failing(kind)
    found = error_of(failure, "act", CONFIG, None)

    assert type(found) is error
    assert isinstance(found, BasculeError)
    assert (found.message, found.fix, found.failure) == ("it went wrong", "mend it", failure)


def test_a_timeout_tells_how_long_was_waited():
    failure = failing(FailureKind.TIMEOUT)

    assert [getattr(error_of(failure, "act", CONFIG, given), "timeout", 0) for given in (None, 0.5)] == [7, 0.5]


def test_an_error_of_the_protocol_is_kept_whole():
    error = error_of(failing(FailureKind.TOOL_ERROR, tool_code=-32000, cause={"a": 1}), "act", CONFIG, None)

    assert isinstance(error, McpToolError)
    assert error.rpc_error == {"code": -32000, "message": "it went wrong", "data": {"a": 1}}


def test_what_ends_a_run_is_what_adapters_carry_and_asking_it_for_sections_ends_the_loop():
    error = McpRunStopped(failing(FailureKind.FATAL), "work_act")

    assert isinstance(error, VisibilityExpansionRequired)
    assert str(error) == "it went wrong"
    assert "stopped" in error.section_keys[0]
    with pytest.raises(RunStopped, match="it went wrong") as raised:
        _ = error.requested_overrides
    assert raised.value.failure is error.failure
