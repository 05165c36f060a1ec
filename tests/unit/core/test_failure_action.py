import pytest

from bascule.core.failure_action import REACTIONS, Reaction, RunStopped, reaction, stopped, told
from bascule.core.outcome import FailureKind, ToolFailure


def failure(kind: FailureKind, *, retriable: bool | None = None, fix: str = "") -> ToolFailure:
    return ToolFailure(kind, "BSC-1", "it broke", "files", "read", retriable=retriable, fix=fix)


def test_every_kind_has_its_reaction():
    assert set(REACTIONS) == set(FailureKind)


@pytest.mark.parametrize("kind", [FailureKind.FATAL, FailureKind.ABORTED])
@pytest.mark.parametrize("retriable", [True, False, None])
def test_what_is_fatal_or_aborted_ends_the_run_whatever_the_tool_says(kind: FailureKind, retriable: bool | None):
    assert reaction(failure(kind, retriable=retriable)) is Reaction.STOP


@pytest.mark.parametrize("kind", [FailureKind.DENIED, FailureKind.TIMEOUT])
@pytest.mark.parametrize("retriable", [True, False, None])
def test_what_is_denied_or_too_slow_is_shown_and_no_retry_is_asked_for(kind: FailureKind, retriable: bool | None):
    assert reaction(failure(kind, retriable=retriable)) is Reaction.MOVE_ON


def test_a_tools_error_is_a_retry_only_where_the_tool_says_so():
    kind = FailureKind.TOOL_ERROR
    reactions = [reaction(failure(kind, retriable=retriable)) for retriable in (True, False, None)]
    assert reactions == [Reaction.RETRY, Reaction.MOVE_ON, Reaction.MOVE_ON]


def test_a_model_is_shown_the_words_and_what_can_be_done():
    assert told(failure(FailureKind.DENIED)) == "it broke"
    assert told(failure(FailureKind.DENIED, fix="ask an operator")) == "it broke\nask an operator"


def test_what_ends_a_run_carries_the_failure():
    failed = failure(FailureKind.FATAL, fix="look at the disk")
    error = stopped(failed)
    assert isinstance(error, RunStopped)
    assert (str(error), error.failure, error.where, error.fix) == ("it broke", failed, "read", "look at the disk")
