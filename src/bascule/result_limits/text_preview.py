"""Preview of lines and rows: text, logs with their error lines, CSV, TSV, and drawn tables."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from bascule.config.model.result_presets import Preset
from bascule.result_limits.budget import Parts, Shown
from bascule.result_limits.content_type import SAMPLE, WIDE_SAMPLE, Kind, rule_of
from bascule.result_limits.source_bytes import CHUNK, Span, Whole

_EVERY = 1 << 62
_QUOTE = b'"'

LONGEST = 10_000
"""Lines that one row may take. A quote that never ends would make one row of all."""


def separated_parts(whole: Whole, preset: Preset, kind: Kind) -> Parts:
    records = _records(whole, whole.head_lines(_EVERY))
    header = next(records, None)
    assert header is not None, "told as rows by its first ones"
    head = _first(records, preset.head_rows)
    start = (head[-1] if head else header)[1] + 1
    tail = _first(_records(whole, whole.tail_lines(_EVERY, start)), preset.tail_rows) if start <= whole.end else []
    columns = _columns(whole, header, kind)
    return Parts(
        "rows",
        _count(whole) - 1,
        _shown(whole, head),
        _shown(whole, tail[::-1]),
        header=_shown(whole, [header]),
        also=f"{columns:,} columns" if columns else "",
    )


def _records(whole: Whole, lines: Iterator[Span]) -> Iterator[Span]:
    """Lines put together where a quoted text has line ends in it: from either end, a row has an even number of
    quotes."""
    for first in lines:
        start, stop = first
        quotes, taken = whole.data.count(_QUOTE, start, stop), 1
        while quotes % 2 and taken < LONGEST:
            more = next(lines, None)
            if more is None:
                break
            quotes, taken = quotes + whole.data.count(_QUOTE, *more), taken + 1
            start, stop = min(start, more[0]), max(stop, more[1])
        yield start, stop


def _first(records: Iterable[Span], most: int) -> list[Span]:
    found: list[Span] = []
    for span in records if most else ():
        found.append(span)
        if len(found) == most:
            break
    return found


def _columns(whole: Whole, header: Span, kind: Kind) -> int:
    """Zero if its names are too long to be looked at, or cannot be told apart."""
    start, stop = header
    if stop - start > WIDE_SAMPLE:
        return 0
    text = whole.sample(stop - start, start)
    mark = "\t" if kind is Kind.TSV else max(",;", key=text.count)
    try:
        names = next(csv.reader(text.splitlines(keepends=True), delimiter=mark), None)
    except csv.Error:
        return 0
    return len(names or ())


def _count(whole: Whole) -> int:
    """Rows and the names above them: line ends that are in no quoted text."""
    if _QUOTE not in whole.data:
        return whole.lines
    ends = within = 0
    for start in range(0, whole.end, CHUNK):
        pieces = whole.data[start : min(start + CHUNK, whole.end)].split(_QUOTE)
        ends += sum(piece.count(b"\n") for piece in pieces[within::2])
        within ^= (len(pieces) - 1) & 1
    return ends + 1


ERRORS = 20
"""Lines with errors that are looked at. A log that goes wrong says the same a thousand times."""

_ERROR = re.compile(rb"\b(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|Traceback|panic:|level=error)|(?:Error|Exception)\b")


def text_parts(whole: Whole, preset: Preset) -> Parts:
    head, tail = _ends(whole, preset.head_lines, preset.tail_lines)
    return Parts("lines", whole.lines, _shown(whole, head), _shown(whole, tail))


def log_parts(whole: Whole, preset: Preset) -> Parts:
    head, tail = _ends(whole, preset.head_lines, preset.tail_lines)
    start = head[-1][1] + 1 if head else 0
    stop = tail[0][0] if tail else whole.end
    found = list(islice(_errors(whole, start, stop), ERRORS))
    return Parts(
        "lines",
        whole.lines,
        _shown(whole, head),
        _shown(whole, tail),
        marked=_shown(whole, found),
        marked_word="lines with errors from in between",
        marked_total=_count_errors(whole, start, stop) if len(found) == ERRORS else len(found),
    )


def table_parts(whole: Whole, preset: Preset) -> Parts:
    """Of one that is drawn with lines and bars: names and rule first."""
    drawn = whole.sample(SAMPLE).split("\n")[:4]
    header = list(whole.head_lines((rule_of(drawn) or 0) + 1))
    head, tail = _ends(whole, preset.head_rows, preset.tail_rows, header[-1][1] + 1)
    rows = max(0, whole.lines - len(header))
    return Parts("rows", rows, _shown(whole, head), _shown(whole, tail), header=_shown(whole, header))


def _ends(whole: Whole, head: int, tail: int, start: int = 0) -> tuple[list[Span], list[Span]]:
    """The first and the last lines from there on, and none of them twice."""
    first = list(whole.head_lines(head, start))
    after = first[-1][1] + 1 if first else start
    last = list(whole.tail_lines(tail, after)) if after <= whole.end else []
    return first, last[::-1]


def _shown(whole: Whole, spans: Sequence[Span]) -> list[Shown]:
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
