"""State of a request: its event and failure, and the time of each step."""

import asyncio

import pytest

from bascule.core.call import ToolCall
from bascule.core.errors import OutcomeWithheld, ProtocolViolation, Refused, UnknownTool
from bascule.core.outcome import FailureKind
from bascule.core.undo.transaction import Remote
from bascule.runtime.call_state import Steps, Trail
from bascule.runtime.progress_buffer import Withholding


def far_along() -> Trail:
    trail = Trail(ToolCall("files_read", {"path": "/a"}))
    trail.server, trail.tool = "files", "read"
    trail.steps.marks.append(("resolve", 1.0))
    return trail


def test_a_failure_says_where_the_call_was():
    failure = far_along().failure(ProtocolViolation("not JSON"))
    assert (failure.kind, failure.server, failure.tool) == (FailureKind.PROTOCOL_ERROR, "files", "read")
    assert list(failure.steps) == ["resolve"]


def test_a_reply_that_was_not_believed_is_kept_beside_the_failure():
    trail = far_along()
    trail.raw = {"structuredContent": {}}
    assert trail.failure(ProtocolViolation("does not fit")).cause == {"structuredContent": {}}


def test_of_an_outcome_that_is_withheld_nothing_is_kept():
    trail, told = far_along(), list[float]()
    trail.raw = {"content": [{"type": "text", "text": "private"}]}
    trail.withholding = Withholding(lambda progress, _total, _message: told.append(progress))
    trail.withholding(1, None, "private")
    failure = trail.failure(OutcomeWithheld("it may not be seen", rule="nothing_before_it_is_learned"))
    assert (failure.code, failure.cause, trail.withholding) == ("BSC-303", None, None)


def test_an_unknown_tool_gives_away_no_server():
    failure = far_along().failure(UnknownTool("there is no such tool"))
    assert (failure.server, dict(failure.steps)) == ("", {})


@pytest.mark.parametrize(
    ("end", "kind"),
    [(asyncio.CancelledError(), FailureKind.ABORTED), (ZeroDivisionError("private"), FailureKind.FATAL)],
)
def test_what_cut_a_call_short_is_told_by_its_kind(end: BaseException, kind: FailureKind):
    failure = far_along().cut_short(end)
    assert (failure.kind, failure.server) == (kind, "files")
    assert "private" not in failure.message


def test_arguments_are_noted_by_shape_when_the_call_begins():
    arguments = {"path": "/a"}
    trail = Trail(ToolCall("files_read", arguments))
    arguments["path"] = "/other"
    assert dict(trail.shapes) == {"path": "string[2]"}


@pytest.mark.parametrize(
    ("writes", "answered", "ok", "remote"),
    [
        (True, True, True, Remote.DONE),
        (True, True, False, Remote.UNKNOWN),
        (True, False, False, Remote.NONE),
        (False, True, True, Remote.NONE),
        (False, True, False, Remote.NONE),
    ],
)
def test_what_it_did_at_its_server_is_unknown_as_soon_as_it_has_failed(
    writes: bool, answered: bool, ok: bool, remote: Remote
):
    trail = far_along()
    trail.writes, trail.answered = writes, answered

    assert trail.remote(ok=ok) is remote


def test_the_rule_that_refused_is_kept():
    trail = far_along()
    trail.failure(Refused("no", rule="no_connect"))
    assert trail.rule == "no_connect"


def timed(*marks: tuple[str, float]) -> Steps:
    steps = Steps()
    steps.started = 10.0
    steps.marks += marks
    return steps


def test_every_mark_gets_the_time_since_the_one_before():
    steps = timed(("resolve", 10.5), ("send", 12.5))
    assert dict(steps) == {"resolve": 0.5, "send": 2.0}
    assert (len(steps), steps["send"], repr(steps)) == (2, 2.0, "{'resolve': 0.5, 'send': 2.0}")


def test_a_step_that_comes_round_again_is_added_up():
    steps = timed(("decide", 11.0), ("lease", 13.0), ("decide", 13.5))
    assert dict(steps) == {"decide": 1.5, "lease": 2.0}


def test_a_step_that_was_not_taken_is_not_there():
    with pytest.raises(KeyError):
        timed()["send"]
