"""What is shown of a text: its first and its last lines, and of a log those in between that tell of errors."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from bascule.config.model.result_presets import Preset
from bascule.result_limits.budget import Parts, Shown
from bascule.result_limits.content_type import SAMPLE, rule_of
from bascule.result_limits.source_bytes import Span, Whole

ERRORS = 20
"""Lines with errors that are looked at. A log that goes wrong says the same a thousand times."""

_ERROR = re.compile(rb"\b(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|Traceback|panic:|level=error)|(?:Error|Exception)\b")


def text_parts(whole: Whole, preset: Preset) -> Parts:
    head, tail = _ends(whole, preset.head_lines, preset.tail_lines)
    return Parts("lines", whole.lines, _shown_lines(whole, head), _shown_lines(whole, tail))


def log_parts(whole: Whole, preset: Preset) -> Parts:
    head, tail = _ends(whole, preset.head_lines, preset.tail_lines)
    start = head[-1][1] + 1 if head else 0
    stop = tail[0][0] if tail else whole.end
    found = list(islice(_errors(whole, start, stop), ERRORS))
    return Parts(
        "lines",
        whole.lines,
        _shown_lines(whole, head),
        _shown_lines(whole, tail),
        marked=_shown_lines(whole, found),
        marked_word="lines with errors from in between",
        marked_total=_count_errors(whole, start, stop) if len(found) == ERRORS else len(found),
    )


def table_parts(whole: Whole, preset: Preset) -> Parts:
    """Of one that is drawn with lines and bars: names and rule first."""
    drawn = whole.sample(SAMPLE).split("\n")[:4]
    header = list(whole.head_lines((rule_of(drawn) or 0) + 1))
    head, tail = _ends(whole, preset.head_rows, preset.tail_rows, header[-1][1] + 1)
    rows = max(0, whole.lines - len(header))
    return Parts("rows", rows, _shown_lines(whole, head), _shown_lines(whole, tail), header=_shown_lines(whole, header))


def _ends(whole: Whole, head: int, tail: int, start: int = 0) -> tuple[list[Span], list[Span]]:
    """The first and the last lines from there on, and none of them twice."""
    first = list(whole.head_lines(head, start))
    after = first[-1][1] + 1 if first else start
    last = list(whole.tail_lines(tail, after)) if after <= whole.end else []
    return first, last[::-1]


def _shown_lines(whole: Whole, spans: Sequence[Span]) -> list[Shown]:
    return [whole.shown(span) for span in spans]


def _errors(whole: Whole, start: int, stop: int) -> Iterator[Span]:
    """The lines that tell of errors."""
    while start < stop:
        found = _ERROR.search(whole.data, start, stop)
        if found is None:
            return
        begin = whole.data.rfind(b"\n", start, found.start()) + 1 or start
        end = whole.data.find(b"\n", found.end(), stop)
        end = stop if end < 0 else end
        yield begin, end
        start = end + 1


def _count_errors(whole: Whole, start: int, stop: int) -> int:
    return sum(1 for _ in _errors(whole, start, stop))
