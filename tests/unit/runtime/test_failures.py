"""Exceptions become failure values through one table."""

import inspect

import pytest

from bascule.core import errors
from bascule.core.errors import (
    BasculeError,
    ConnectFailed,
    LimitReached,
    LoginNeeded,
    PeerError,
    PeerRefused,
    PermitLost,
    ProtocolViolation,
    Refused,
)
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import Lane
from bascule.runtime.failures import KINDS, aborted, broken, failure_of, kind_of

NEVER_ARRIVE = {BasculeError, PeerError, PermitLost}
"""Parents that nobody raises, and the one the executor keeps to itself."""


def test_every_error_class_has_its_kind():
    classes = {cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, BasculeError)}
    assert classes - NEVER_ARRIVE == set(KINDS)


def test_a_failure_carries_all_that_the_error_told():
    error = ConnectFailed("no", where="spawn", evidence="exit 1", cause="missing", fix="install it")
    failure = failure_of(error, "files", "read", Lane.OPEN, {"lease": 0.1})
    assert (failure.kind, failure.code, failure.message) == (FailureKind.CONNECTION_ERROR, "BSC-401", "no")
    assert (failure.evidence, failure.cause, failure.fix) == ("exit 1", "missing", "install it")
    assert (failure.server, failure.tool, failure.steps) == ("files", "read", {"lease": 0.1})
    assert failure.retriable is True


def test_a_refusal_of_the_server_keeps_its_code_and_data():
    error = PeerRefused("bad", rpc_code=-32602, data={"field": "x"})
    failure = failure_of(error, "s", "t", Lane.OPEN, {})
    assert (failure.kind, failure.tool_code, failure.cause) == (FailureKind.TOOL_ERROR, -32602, {"field": "x"})


def test_a_reply_that_was_not_believed_is_kept_whole():
    raw = {"structuredContent": {"n": "three"}}
    failure = failure_of(ProtocolViolation("does not fit"), "s", "t", Lane.OPEN, {}, raw)
    assert (failure.kind, failure.cause) == (FailureKind.PROTOCOL_ERROR, raw)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_way_to_the_server_is_unavailable_and_not_the_tools_fault(status: int):
    assert kind_of(PeerRefused("busy", rpc_code=0, status=status)) is FailureKind.UNAVAILABLE


def test_an_answer_of_the_server_itself_is_the_tools():
    assert kind_of(PeerRefused("bad", rpc_code=-32603, status=400)) is FailureKind.TOOL_ERROR


def test_what_http_said_beside_an_error_is_kept():
    refused = PeerRefused("busy", rpc_code=-32050, status=503, headers={"Retry-After": "7"})
    failure = failure_of(refused, "s", "t", Lane.OPEN, {})
    assert (failure.kind, failure.status, failure.retry_after) == (FailureKind.UNAVAILABLE, 503, "7")
    assert failure.evidence == "HTTP 503, Retry-After: 7"


def test_a_refusal_names_its_rule_before_its_evidence():
    failure = failure_of(Refused("no", rule="data_stays_in", evidence="so"), "s", "t", Lane.OPEN, {})
    assert failure.evidence == "rule: data_stays_in\nso"


def test_a_limit_is_denied_for_a_while_and_any_other_refusal_for_good():
    reached = failure_of(LimitReached("16 calls", rule="within_limits", retry_after=7), "s", "t", Lane.OPEN, {})
    refused = failure_of(Refused("no", rule="tool_is_exposed"), "s", "t", Lane.OPEN, {})
    assert (reached.kind, reached.code, refused.kind) == (FailureKind.DENIED, "BSC-301", FailureKind.DENIED)
    assert (reached.retriable, reached.retry_after) == (True, "7")
    assert (refused.retriable, refused.retry_after) == (False, "")


def test_a_mistake_of_ours_is_told_by_its_kind_alone():
    failure = broken(ZeroDivisionError("with private data in it"), "s", "t", Lane.OPEN, {})
    assert (failure.kind, failure.message) == (FailureKind.FATAL, "nobody foresaw this: ZeroDivisionError")


def test_a_server_that_waits_for_a_login_is_unavailable():
    assert kind_of(LoginNeeded("log in")) is FailureKind.UNAVAILABLE


def test_a_subclass_outside_of_the_table_counts_as_its_parent():
    class Special(ConnectFailed):
        pass

    assert kind_of(Special("x")) is FailureKind.CONNECTION_ERROR


def test_aborted_says_where_the_call_was():
    failure = aborted("files", "read", Lane.OPEN, {"send": 1.0})
    assert (failure.kind, failure.server, failure.steps) == (FailureKind.ABORTED, "files", {"send": 1.0})


def test_where_a_person_has_to_go_first_is_shown():
    asked = [{"mode": "url", "message": "Please log in", "url": "https://example.test/in", "elicitationId": "1"}] * 9
    error = PeerRefused("URL elicitation required", rpc_code=-32042, data={"elicitations": asked})
    failure = failure_of(error, "files", "read", Lane.OPEN, {})
    assert failure.evidence.split("\n") == ["https://example.test/in (Please log in)"] * 5
    assert "open the address" in failure.fix


@pytest.mark.parametrize("data", [None, [], {"elicitations": 7}, {"elicitations": ["x", {"url": 7}]}])
def test_an_odd_list_of_where_to_go_does_no_harm(data: object):
    assert failure_of(PeerRefused("go", rpc_code=-32042, data=data), "files", "read", Lane.OPEN, {}).message == "go"
