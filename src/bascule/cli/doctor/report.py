"""Report of the health checks for a person: failures first, by group, and the first thing to do."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from shutil import get_terminal_size

from bascule.cli.doctor.check import Check

WIDTH = 80
"""Columns at most: longer lines are hard to read. A terminal may have fewer."""

MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}

_WORST = ("fail", "warn", "ok")

_GROUPS = {
    "config and state": ("config", "state", "disk", "level key", "levels", "runtimes", "lock", "audit"),
    "servers": ("server", "node", "certificate", "package", "box", "sealed", "footing"),
    "tools": ("tool",),
    "gateway": ("gateway", "gateway keys", "port", "telemetry", "dashboard"),
    "this machine": (),
}
"""By what a subject begins with. The last has all the others."""

_PROGRAMS = "bascule|chmod|mkdir|rm|sudo|export|pip|apt-get|docker|timedatectl"
_COMMAND = re.compile(rf"`(?!bascule doctor`)((?:{_PROGRAMS}) [^`]+)`")
"""What of a remedy can be run as it stands. That this very command will see it mended is no remedy."""


def screen(checks: Sequence[Check]) -> str:
    """All checks, the worst first, and the verdict."""
    groups = sorted(_grouped(_worth_showing(checks)), key=lambda group: _rank(group[1][0]))
    told = ["\n".join([title, *(line for check in held for line in lines(check))]) for title, held in groups]
    return "\n\n".join([*told, verdict(checks)])


def _worth_showing(checks: Sequence[Check]) -> list[Check]:
    """Of a server that fails, what else is in order helps nobody."""
    failing = {check.subject.partition(" ")[2] for check in checks if check.status == "fail"} - {""}
    return [check for check in checks if check.status != "ok" or check.subject.partition(" ")[2] not in failing]


def _grouped(checks: Sequence[Check]) -> Iterator[tuple[str, list[Check]]]:
    titles = {check.subject: _title(check.subject) for check in checks}
    for title in _GROUPS:
        held = sorted((check for check in checks if titles[check.subject] == title), key=_rank)
        if held:
            yield title, held


def _title(subject: str) -> str:
    begins = subject.partition(" ")[0]
    return next((title for title, words in _GROUPS.items() if subject in words or begins in words), "this machine")


def _rank(check: Check) -> int:
    return _WORST.index(check.status)


def lines(check: Check) -> Iterator[str]:
    """One check. What is in order needs no evidence and no remedy."""
    yield from _wrapped(f"{MARKS[check.status]} {check.subject}: {check.message}", "  ", "      ")
    if check.status == "ok":
        return
    # What was said is not said again.
    evidence = [line for line in check.evidence.split("\n") if line and line not in check.message]
    for label, said in (("evidence", evidence), ("fix", check.fix.split("\n") if check.fix else [])):
        for line in said:
            yield from _wrapped(line, f"    {label + ':':<10}", " " * 14, whole=label == "fix")


def _columns() -> int:
    return min(WIDTH, get_terminal_size((WIDTH, 24)).columns)


def _wrapped(text: str, first: str, rest: str, *, whole: bool = False) -> list[str]:
    """At most `WIDTH` columns. Of what a person may copy, no word is cut in two."""
    return textwrap.wrap(
        text,
        _columns(),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=not whole,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def verdict(checks: Sequence[Check]) -> str:
    """How it stands, and what to do first."""
    failing, warning = ([check for check in checks if check.status == status] for status in _WORST[:2])
    warned = f"{len(warning)} warning{'s' if len(warning) > 1 else ''}" if warning else ""
    if not failing:
        return f"all is well, with {warned}" if warned else "all is well"
    first = min(failing, key=lambda check: list(_GROUPS).index(_title(check.subject)))
    told = ", and ".join(filter(None, (f"{len(failing)} to mend", warned)))
    command = _COMMAND.search(first.fix)
    begin = f"run: {command[1]}" if command is not None else f"{first.subject}: {first.fix or 'see above'}"
    line = f"{told}; first {begin}"
    if command is None and _columns() < WIDTH:
        return "\n".join(_wrapped(line, "", "    "))
    # A command is for copying, and stays whole.
    return line if command is not None or len(line) <= WIDTH else line[: WIDTH - 1] + "…"
