"""Calls as they are shown."""

from collections.abc import Callable, Iterator, Mapping

from bascule.dashboard.session_ids import session_id
from bascule.dashboard.shapes import CallDetail, CallRow, StepView
from bascule.records.feed.call_note import CallNote

REST = "rest"
"""What came after the last step: learning, raising, writing down."""

SHORTEST_REST = 0.00005
"""Seconds. Less is no step of its own."""

Masked = Callable[[str], str]


def call_row(note: CallNote) -> CallRow:
    principal = note.principal
    return CallRow(
        seq=note.seq,
        began=note.at - note.seconds,
        seconds=note.seconds,
        session_id=session_id(principal),
        user=principal.user_id,
        session=principal.session_id,
        name=note.name,
        server=note.server,
        method=note.method,
        lane=note.lane,
        outcome=note.outcome,
        code=note.code,
        rule=note.rule,
        steps=tuple(steps_of(note.steps, note.seconds)),
    )


def steps_of(steps: Mapping[str, float], seconds: float) -> Iterator[StepView]:
    """One after another, as they were taken. One that came round again is one bar, as long as all its turns."""
    start = 0.0
    # Once: each look at it makes the sums anew.
    for name, took in dict(steps).items():
        yield StepView(name, start, took)
        start += took
    if seconds - start > SHORTEST_REST:
        yield StepView(REST, start, seconds - start)


def call_detail(note: CallNote, masked: Masked) -> CallDetail:
    return CallDetail(
        call=call_row(note),
        arguments=dict(note.arguments),
        result=note.result,
        message=masked(note.message),
        fix=masked(note.fix),
        findings=note.findings,
        local=note.local,
        remote=note.remote,
        noted=note.noted,
        trace=note.trace,
    )
