"""What raises a level before a request is sent, and what is learned from how it ends."""

from typing import Any

import pytest

from bascule.config import ServerConfig, StdioTransport
from bascule.core.call import ToolCall
from bascule.core.errors import (
    BasculeError,
    ConnectFailed,
    ConnectionLost,
    LaneClosed,
    PeerRefused,
    ProtocolViolation,
    Refused,
    ReplyTimeout,
)
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.call_state import Trail
from bascule.runtime.sensitivity_rules import LABEL, UNREAD, cause_of, learned, learned_from, ruled_level, unread_level
from bascule.sensitivity.private_data import LABELS_KEY

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity


def a_server(**word: Any) -> ServerConfig:
    return ServerConfig("files", StdioTransport("files"), **word)


TRUSTED = a_server(trust=("labels",))


def a_trail(unread: DataSensitivity | None = None) -> Trail:
    trail = Trail(ToolCall("files_read", {}))
    trail.server, trail.tool, trail.unread = "files", "read", unread
    return trail


def labelled(*labels: str) -> dict[str, Any]:
    return {"_meta": {LABELS_KEY: [*labels]}}


# Before


@pytest.mark.parametrize(
    ("tool", "level"), [("read", CONFIDENTIAL), ("read_all", SECRET), ("list", INTERNAL), ("Read", PUBLIC)]
)
def test_of_several_rules_that_fit_the_highest_counts(tool: str, level: DataSensitivity):
    rules = {"read": "confidential", "r*": "internal", "*_all": "secret", "list": "internal"}
    assert ruled_level(a_server(raises=rules), tool) is level


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ({}, None),
        ({"trust": ("permissions", "annotations", "fatal")}, None),
        ({"trust": ("labels",)}, SECRET),
        ({"raises": {"read": "internal"}}, INTERNAL),
        ({"raises": {"read": "internal"}, "trust": ("labels",)}, INTERNAL),
        ({"raises": {"write": "internal"}}, None),
        ({"raises": {"write": "internal"}, "trust": ("labels",)}, SECRET),
    ],
)
def test_what_brings_nothing_readable_raises_as_the_rule_says_or_as_far_as_labels_could(word: Any, level: Any):
    assert unread_level(a_server(**word), "read") is level


def test_rules_speak_of_tools_alone():
    assert unread_level(a_server(raises={"*": "internal"}), None) is None
    assert unread_level(a_server(raises={"*": "internal"}, trust=("labels",)), None) is SECRET


# From a reply


def test_a_server_that_is_trusted_for_its_labels_is_believed():
    trail = a_trail()
    assert learned(TRUSTED, labelled("internal", "confidential"), trail) is CONFIDENTIAL
    assert learned(TRUSTED, {}, trail) is None
    assert trail.findings == ()


def test_from_any_other_server_labels_are_a_finding():
    trail = a_trail()
    assert learned(a_server(trust=("permissions",)), labelled("secret"), trail) is None
    assert trail.findings == ("files labels its result SECRET, and is not trusted for labels",)


# From a failure


def refused(data: Any = None, *, readable: bool = True, status: int | None = None) -> PeerRefused:
    error = PeerRefused("no", rpc_code=-1, data=data, status=status)
    error.readable = readable
    return error


UNREADABLE: list[BasculeError] = [
    ReplyTimeout("silence", phase="call", timeout=1.0),
    ConnectionLost("gone"),
    LaneClosed("closed"),
    ProtocolViolation("garbage"),
    refused(readable=False, status=500),
    Refused("what came then", rule="any"),
]


@pytest.mark.parametrize("error", UNREADABLE, ids=lambda error: type(error).__name__)
def test_of_what_was_sent_and_cannot_be_read_the_worst_is_assumed(error: BasculeError):
    assert learned_from(TRUSTED, error, a_trail(SECRET)) == (SECRET, UNREAD)
    assert learned_from(None, error, a_trail(SECRET)) == (SECRET, UNREAD)
    assert learned_from(TRUSTED, error, a_trail(None)) == (None, UNREAD)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionLost("gone", sent=False),
        ConnectFailed("not there"),
        refused(readable=False, status=503),
        refused(readable=False, status=429),
    ],
)
def test_what_never_left_or_was_looked_at_by_nobody_raises_nothing(error: BasculeError):
    assert learned_from(TRUSTED, error, a_trail(SECRET))[0] is None


@pytest.mark.parametrize(
    ("data", "level"), [(labelled("confidential"), CONFIDENTIAL), ({}, None), (None, None), ("secret", None)]
)
def test_an_error_that_a_server_answers_with_is_an_answer(data: Any, level: Any):
    assert learned_from(TRUSTED, refused(data), a_trail(SECRET)) == (level, LABEL)


def test_labels_in_an_error_of_a_server_nobody_trusts_are_a_finding():
    trail = a_trail()
    assert learned_from(a_server(), refused(labelled("secret")), trail) == (None, LABEL)
    assert len(trail.findings) == 1


def test_a_receipt_names_the_call():
    assert cause_of(LABEL, a_trail()) == Cause("label", "files", "read")
