from dataclasses import dataclass

from bascule.bridges.weakincentives.results import McpOutputsForgotten, keep_as_log
from support.weakincentives_runs import a_session


@dataclass(frozen=True, slots=True)
class Output:
    words: str


def test_a_log_is_in_no_snapshot_and_is_not_undone():
    session = a_session()
    keep_as_log(session, Output)
    keep_as_log(session, Output)
    before = session.snapshot()
    session.dispatch(Output("one"))
    session.restore(before)

    assert session[Output].all() == (Output("one"),)
    assert Output not in session.snapshot().slices


def test_it_can_be_forgotten():
    session = a_session()
    keep_as_log(session, Output)
    session.dispatch(Output("one"))
    session.dispatch(McpOutputsForgotten())

    assert session[Output].all() == ()
