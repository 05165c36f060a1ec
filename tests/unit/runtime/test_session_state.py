"""What a program keeps with an agent session."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from bascule.core.errors import UsageError
from bascule.core.undo.transaction import CURRENT, Ending, Transaction
from bascule.runtime.session_state import SessionState


@contextmanager
def in_course_of(transaction: Transaction) -> Generator[None]:
    token = CURRENT.set(transaction)
    yield
    CURRENT.reset(token)


def test_it_is_a_mapping_of_json_values():
    state = SessionState()
    state["rows"] = [1, {"a": None}]
    state["note"] = "ü"

    assert dict(state) == {"rows": [1, {"a": None}], "note": "ü"}
    del state["note"]
    assert (len(state), "note" in state) == (1, False)
    with pytest.raises(KeyError):
        del state["note"]


def test_what_is_given_out_is_a_copy():
    given = [1]
    state = SessionState()
    state["rows"] = given
    given.append(2)
    state["rows"].append(3)

    assert state["rows"] == [1]


@pytest.mark.parametrize("value", [object(), {1, 2, object()}, [float]])
def test_what_is_no_json_is_refused_and_changes_nothing(value: object):
    state = SessionState()
    state["x"] = 1
    with pytest.raises(UsageError, match="cannot keep 'x'"):
        state["x"] = value

    assert state["x"] == 1


def test_a_failed_call_leaves_nothing():
    state = SessionState()
    state["old"], state["gone"] = 1, 2
    transaction = Transaction()
    with in_course_of(transaction):
        state["old"] = 3
        state["old"] = 4
        state["new"] = 5
        del state["gone"]
        assert dict(state) == {"old": 4, "new": 5}

    assert transaction.rollback() == (Ending.RESTORED, ())
    assert dict(state) == {"old": 1, "gone": 2}


def test_calls_beside_it_keep_what_they_changed():
    state = SessionState()
    failing, going_well = Transaction(), Transaction()
    with in_course_of(failing):
        state["a"] = state["both"] = "failing"
    with in_course_of(going_well):
        state["b"] = state["both"] = "well"
    going_well.commit()
    failing.rollback()

    assert dict(state) == {"b": "well", "both": "well"}


def test_what_is_changed_outside_of_calls_is_nobodys_to_undo():
    state = SessionState()
    transaction = Transaction()
    with in_course_of(transaction):
        state["x"] = 1
    state["x"] = 2
    transaction.rollback()

    assert state["x"] == 2
