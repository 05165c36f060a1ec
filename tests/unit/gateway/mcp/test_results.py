from typing import Any

import pytest

from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.results import FAILURE_KEY, failed_call, failed_request, result_of

CONTENT = {"content": [{"type": "text", "text": "hi"}]}


def result(raw: dict[str, Any]) -> ToolResult:
    return ToolResult(raw, "files", "read", Lane.OPEN, {})


def failure(kind: FailureKind, code: str = "BSC-300", **fields: Any) -> ToolFailure:
    return ToolFailure(kind, code, "it broke", "files", "read", **fields)


def test_a_result_has_the_mark_of_the_era_it_goes_to():
    old, new = result(CONTENT), result({**CONTENT, "resultType": "complete", "ttlMs": 5, "cacheScope": "public"})
    assert result_of(old, new=False) is old.raw
    assert result_of(new, new=True) is new.raw
    assert result_of(old, new=True) == {**CONTENT, "resultType": "complete"}
    assert result_of(new, new=False) == CONTENT


@pytest.mark.parametrize(
    "kind",
    [kind for kind in FailureKind if kind not in {FailureKind.UNKNOWN_TOOL, FailureKind.FATAL}],
)
@pytest.mark.parametrize("new", [True, False])
def test_a_failed_call_is_a_result_that_a_model_is_shown(kind: FailureKind, new: bool):
    said = failed_call(failure(kind, fix="mend it", retriable=False), new=new)
    assert said["isError"] is True
    assert said["content"] == [{"type": "text", "text": "it broke\nmend it"}]
    assert said["_meta"] == {FAILURE_KEY: {"kind": kind.value, "code": "BSC-300", "retriable": False}}
    assert ("resultType" in said) is new


def test_what_ends_a_run_says_so_in_both_ways():
    said = failed_call(failure(FailureKind.FATAL), new=True)
    assert said["content"][0]["text"] == "[FATAL] it broke"
    assert said["_meta"]["dev.bascule/fatal"] is True


@pytest.mark.parametrize(("cause", "kept"), [({"rows": 1}, {"rows": 1}), ([1], None), (None, None)])
def test_what_a_tool_sent_with_its_error_goes_on_where_the_protocol_has_a_place_for_it(cause: Any, kept: Any):
    assert failed_call(failure(FailureKind.TOOL_ERROR, cause=cause), new=True).get("structuredContent") == kept


@pytest.mark.parametrize(("new", "status"), [(True, 400), (False, 200)])
def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(new: bool, status: int):
    with pytest.raises(Rejected) as caught:
        failed_call(failure(FailureKind.UNKNOWN_TOOL, "BSC-201"), new=new)
    assert (caught.value.code, caught.value.status) == (-32602, status)


def test_an_error_of_the_server_behind_is_passed_on_as_it_is():
    refused = failure(FailureKind.TOOL_ERROR, "BSC-405", tool_code=-32021, cause={"required": 1})
    with pytest.raises(Rejected) as caught:
        failed_call(refused, new=True)
    assert (caught.value.code, caught.value.data, caught.value.status) == (-32021, {"required": 1}, 400)
    assert failed_request(refused, new=False).status == 200
    assert failed_request(failure(FailureKind.TOOL_ERROR, "BSC-405"), new=True).code == -32603


@pytest.mark.parametrize(
    ("kind", "code", "new", "told"),
    [
        (FailureKind.UNKNOWN_TOOL, "BSC-203", True, -32602),
        (FailureKind.UNKNOWN_TOOL, "BSC-203", False, -32002),
        (FailureKind.UNKNOWN_TOOL, "BSC-204", False, -32602),
        (FailureKind.INVALID_ARGUMENTS, "BSC-202", True, -32602),
        (FailureKind.DENIED, "BSC-300", True, -32603),
        (FailureKind.TIMEOUT, "BSC-403", False, -32603),
    ],
)
def test_other_requests_that_fail_are_errors_of_the_protocol(kind: FailureKind, code: str, new: bool, told: int):
    assert failed_request(failure(kind, code), new=new).code == told


def test_a_resource_that_is_not_there_is_named():
    missing = failure(FailureKind.UNKNOWN_TOOL, "BSC-203")
    assert failed_request(missing, new=True, uri="a://b").data["uri"] == "a://b"
    assert "uri" not in failed_request(missing, new=True).data
    assert "uri" not in failed_request(failure(FailureKind.TIMEOUT, "BSC-403"), new=True, uri="a://b").data
