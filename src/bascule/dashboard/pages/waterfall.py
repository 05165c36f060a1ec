"""Waterfall layout: the positions of the bars of calls on one time axis, with long pauses shortened."""

from collections.abc import Sequence
from math import log10

import msgspec

from bascule.dashboard.views.shapes import CallRow, UnderWay

WIDTH = 1000.0
"""Units across. Pages stretch them to the room there is."""

LEAST = 3.0
"""Units of the shortest bar: what can be seen can be clicked."""

PAUSE = 0.15
"""Of the time in which anything runs: a pause that is longer is cut to it. Agents think for seconds between calls that
take milliseconds, and without the cut all bars would be dots."""

STEPS = ("resolve", "validate", "ask", "decide", "lease", "send", "read", "wrapper", "answer", "rest")
"""Those that have a colour of their own. Others have that of `rest`."""


class Bar(msgspec.Struct, frozen=True):
    """One step of a call, where it is drawn."""

    step: str
    x: float
    width: float


class Drawn(msgspec.Struct, frozen=True):
    """One call, with its bars."""

    call: CallRow
    bars: tuple[Bar, ...]


def alone(call: CallRow, longest: float) -> tuple[Bar, ...]:
    """The bars of a call by itself, as long as it took beside the longest one that is shown. By the logarithm: a call
    of a millisecond and one of ten seconds are both seen."""
    full = WIDTH * _log_share(call.seconds, longest)
    return _bars(call, 0.0, full)


SCALE = 10.0
"""Seconds across the room of a request that has not ended. When it fills them, they are doubled."""


def growing(call: UnderWay) -> tuple[Bar, ...]:
    """The bars of a request that has not ended: one that takes twice as long is twice as long. A browser goes on
    drawing them by the same rule."""
    scale = SCALE
    while call.seconds > scale:
        scale *= 2
    return tuple(
        Bar(step.name if step.name in STEPS else "rest", *_across(step.start, step.seconds, scale))
        for step in call.steps
    )


def _across(start: float, seconds: float, scale: float) -> tuple[float, float]:
    return round(WIDTH * start / scale, 1), round(max(WIDTH * seconds / scale, LEAST), 1)


def waterfall(calls: Sequence[CallRow]) -> tuple[Drawn, ...]:
    """Each call where it was in time, beside the others. In the order given."""
    spans = sorted((call.began, call.began + max(call.seconds, 0.0)) for call in calls)
    moved = _without_pauses(spans)
    whole = max((end for _, end in moved.values()), default=0.0) or 1.0
    scale = WIDTH / whole
    return tuple(
        Drawn(call, _bars(call, *_room(moved[(call.began, call.began + max(call.seconds, 0.0))], scale)))
        for call in calls
    )


def _room(span: tuple[float, float], scale: float) -> tuple[float, float]:
    start, end = span
    width = max((end - start) * scale, LEAST)
    return min(start * scale, WIDTH - width), width


def _without_pauses(spans: Sequence[tuple[float, float]]) -> dict[tuple[float, float], tuple[float, float]]:
    """Where each span is once pauses in which nothing ran are cut short."""
    longest = PAUSE * _busy(spans)
    moved: dict[tuple[float, float], tuple[float, float]] = {}
    cut, until = (spans[0][0], spans[0][0]) if spans else (0.0, 0.0)
    for start, end in spans:
        cut += max(start - until - longest, 0.0)
        moved[start, end] = (start - cut, end - cut)
        until = max(until, end)
    return moved


def _busy(spans: Sequence[tuple[float, float]]) -> float:
    """Seconds in which anything ran."""
    total, until = 0.0, float("-inf")
    for start, end in spans:
        total += max(end - max(start, until), 0.0)
        until = max(until, end)
    return total


def _bars(call: CallRow, x: float, width: float) -> tuple[Bar, ...]:
    """Its steps within the room of the whole, which they fill from left to right."""
    width = max(width, LEAST)
    total = sum(step.seconds for step in call.steps)
    if not call.steps or total <= 0:
        return (Bar("rest", round(x, 1), round(width, 1)),)
    bars: list[Bar] = []
    for step in call.steps:
        part = width * step.seconds / total
        if part >= 0.2:
            bars.append(Bar(step.name if step.name in STEPS else "rest", round(x, 1), round(part, 1)))
        x += part
    return tuple(bars)


def placed(value: float | None, longest: float) -> float:
    """How far along the same axis a duration is."""
    return 0.0 if value is None else round(max(WIDTH * _log_share(value, longest), LEAST), 1)


def _log_share(value: float, longest: float) -> float:
    floor = 1e-4
    top = log10(max(longest, floor * 10) / floor)
    return min(1.0, max(0.0, log10(max(value, floor) / floor) / top))
