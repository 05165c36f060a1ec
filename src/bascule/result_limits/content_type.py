"""Content type detection for the text of a result, from its beginning: JSON, CSV, TSV, table, log or plain text."""

import csv
import re
from enum import Enum
from itertools import islice

from bascule.result_limits.source_bytes import Whole

SAMPLE = 64 * 1024
"""Bytes from which the kind is told."""

WIDE_SAMPLE = 1 << 20
"""The same where lines are long: a table of thousands of columns has but few rows in the first bytes."""

ROWS = 20
"""Rows that must agree on the number of columns."""


class Kind(Enum):
    """What a result is, in words, and how a file of that kind is called."""

    JSON = ("JSON", "json")
    CSV = ("CSV", "csv")
    TSV = ("tab-separated values", "tsv")
    TABLE = ("a table", "txt")
    LOG = ("a log", "log")
    TEXT = ("text", "txt")
    BYTES = ("bytes that are no UTF-8 text", "bin")

    @property
    def word(self) -> str:
        return self.value[0]

    @property
    def ending(self) -> str:
        return self.value[1]


_RULE = " \t\r|+:=-"
"""What the line below the names of columns is made of."""

_TIME = re.compile(
    r"\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ,]|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d|\d{10}(?:\.\d+)?\s)"
    r"|\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}"
)
_SEVERITY = re.compile(r"\b(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b|\blevel=\w+")
_LOGGED = 0.5
"""The share of lines that must look like those of a log."""


def kind_of(whole: Whole) -> Kind:
    if not whole.is_text:
        return Kind.BYTES
    sample = whole.sample(SAMPLE)
    lines = _complete_lines(sample, whole)
    if _looks_like_json(sample, whole):
        return Kind.JSON
    if is_table(lines):
        return Kind.TABLE
    if _is_log(lines):
        return Kind.LOG
    return _separated(lines) or _separated(_complete_lines(whole.sample(WIDE_SAMPLE), whole)) or Kind.TEXT


def _complete_lines(sample: str, whole: Whole) -> list[str]:
    lines = sample.split("\n")
    if len(sample) < whole.characters and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip()]


def _looks_like_json(sample: str, whole: Whole) -> bool:
    """By its two ends. Whether it is JSON all through, its reader finds out."""
    ends = sample.lstrip()[:1] + whole.sample(64, max(0, len(whole.data) - 64)).rstrip()[-1:]
    return ends in {"{}", "[]"}


def is_table(lines: list[str]) -> bool:
    """Names, a line below them, and rows: as Markdown, psql and mysql draw them."""
    return rule_of(lines) is not None


def rule_of(lines: list[str]) -> int | None:
    """The number of the line below the names."""
    for number in (1, 2):
        if number < len(lines) - 1 and _is_rule(lines[number]) and "|" in lines[number - 1]:
            return number
    return None


def _is_rule(line: str) -> bool:
    return not line.strip(_RULE) and ("-" in line or "=" in line) and ("|" in line or "+" in line)


def _is_log(lines: list[str]) -> bool:
    some = lines[:200]
    found = sum(1 for line in some if _TIME.match(line[:80]) or _SEVERITY.search(line[:120]))
    return len(some) >= 3 and found >= _LOGGED * len(some)


def _separated(lines: list[str]) -> Kind | None:
    for kind, mark in ((Kind.TSV, "\t"), (Kind.CSV, ","), (Kind.CSV, ";")):
        if _agrees(lines, mark):
            return kind
    return None


def _agrees(lines: list[str], mark: str) -> bool:
    """Whether the first rows have as many columns as the names above them. In prose a space follows a comma, and a
    sentence ends as no name of a column does."""
    if len(lines) < 3 or mark not in lines[0]:
        return False
    try:
        rows = list(islice(csv.reader((f"{line}\n" for line in lines), delimiter=mark, strict=True), ROWS + 1))
    except csv.Error:
        return False
    names = [name.strip() for name in rows[0]]
    if len(rows) < 3 or any(len(row) != len(names) for row in rows):
        return False
    spaced = sum(line.count(mark + " ") for line in lines[: ROWS + 1])
    marks = sum(line.count(mark) for line in lines[: ROWS + 1])
    return spaced * 2 < marks and all(len(name) <= 80 and not name.endswith((".", "!", "?")) for name in names)
