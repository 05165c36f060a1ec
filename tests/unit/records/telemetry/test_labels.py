import pytest

from bascule.core.outcome import FailureKind, ToolFailure
from bascule.records.telemetry.labels import RPC_ERROR, error_type


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ToolFailure(FailureKind.TIMEOUT, "BSC-403", ""), "timeout"),
        (ToolFailure(FailureKind.TOOL_ERROR, "BSC-701", "", tool_code=-32601), "tool_error"),
        (ToolFailure(FailureKind.TOOL_ERROR, "BSC-405", "", tool_code=-32601), "-32601"),
        (ToolFailure(FailureKind.TOOL_ERROR, "BSC-405", "", tool_code=-1), RPC_ERROR),
        (ToolFailure(FailureKind.TOOL_ERROR, "BSC-405", "", tool_code="hunter22"), RPC_ERROR),
        (ToolFailure(FailureKind.UNAVAILABLE, "BSC-405", "", tool_code=-32603), "unavailable"),
    ],
)
def test_a_failure_is_of_few_classes(failure: ToolFailure, told: str):
    assert error_type(failure) == told
