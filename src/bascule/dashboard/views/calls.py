"""View models of calls: finished calls, calls in flight, and their steps."""

import re
from collections.abc import Callable, Iterator, Mapping

from bascule.dashboard.session_ids import session_id
from bascule.dashboard.views.shapes import CallDetail, CallRow, StepView, UnderWay
from bascule.records.feed.calls import CallNote
from bascule.runtime.admin import Begun

REST = "rest"
"""What came after the last step: learning, raising, writing down."""

SHORTEST_REST = 0.00005
"""Seconds. Less is no step of its own."""

NEXT = {
    "": "resolve",
    "resolve": "validate",
    "validate": "decide",
    "ask": "decide",
    "decide": "lease",
    "lease": "send",
    "send": "read",
}
"""What a request does after each step. After others it is at work on its outcome."""

_PLACE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)-([0-9a-f]{1,32})-([0-9]{1,15})", re.ASCII)

Masked = Callable[[str], str]


def call_row(note: CallNote, feed: str) -> CallRow:
    """`feed` is the id of the feed that the note is of."""
    principal = note.principal
    return CallRow(
        id=f"{feed}-{note.seq}",
        at=note.at,
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
        steps=tuple(steps_of(note.details.steps, note.seconds, failed=note.failed)),
    )


def steps_of(steps: Mapping[str, float], seconds: float, *, failed: bool = False) -> Iterator[StepView]:
    """One after another, as they were taken. One that came round again is one bar, as long as all its turns."""
    start = 0.0
    # Once: each look at it makes the sums anew.
    for name, took in dict(steps).items():
        yield StepView(name, start, took)
        start += took
    if seconds - start > SHORTEST_REST:
        yield StepView(step_after(steps) if failed else REST, start, seconds - start)


def step_after(steps: Mapping[str, float]) -> str:
    """The step in which a request is that has these behind it."""
    last = next(reversed(dict(steps)), "")
    return NEXT.get(last, REST)


def under_way_row(begun: Begun, name: str, now: tuple[float, float]) -> UnderWay:
    """`name` is what may be shown of its name. `now` is the time, and the same by the clock of requests."""
    at, instant = now
    seconds, principal = instant - begun.started, begun.principal
    step = "ask" if begun.waits else step_after(begun.steps)
    behind = tuple(steps_of(begun.steps, 0.0))
    start = sum(each.seconds for each in behind)
    return UnderWay(
        # No two begin in the same instant, by a clock that tells less than a microsecond.
        id=f"{begun.started * 1e7:.0f}",
        at=at,
        seconds=seconds,
        session_id=session_id(principal),
        user=principal.user_id,
        session=principal.session_id,
        name=name,
        server=begun.server,
        method=begun.method,
        lane=begun.lane or "",
        step=step,
        steps=(*behind, StepView(step, start, max(0.0, seconds - start))),
    )


def place_of(text: str) -> tuple[float, str, int] | None:
    """What orders calls, of a place in an address. None for what is none."""
    found = _PLACE.fullmatch(text)
    return None if found is None else (float(found[1]), found[2], int(found[3]))


def call_detail(note: CallNote, feed: str, masked: Masked) -> CallDetail:
    details = note.details
    return CallDetail(
        call=call_row(note, feed),
        arguments=details.arguments,
        result=details.result,
        message=masked(note.message),
        fix=masked(note.fix),
        findings=note.findings,
        local=note.local,
        remote=note.remote,
        noted=note.noted,
        trace=note.trace,
    )
