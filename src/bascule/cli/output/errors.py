"""Errors as text for a person: message, place, evidence, likely cause, fix and page."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from bascule.cli.json_output.answers import ErrorShape, FindingShape
from bascule.core.errors import BasculeError, ConfigError, PeerRefused
from bascule.core.finding import Finding
from bascule.core.outcome import ToolFailure
from bascule.core.text.invisible_chars import escaped, escaped_json


def _says(message: str, where: str) -> bool:
    """Whether it stands there already, and not only as a part of a longer name."""
    return re.search(rf"(?<!\w){re.escape(where)}(?!\w)", message) is not None


def explain(error: BasculeError) -> str:
    where = f" ({error.where})" if error.where and not _says(error.message, error.where) else ""
    parts = (("evidence", error.evidence), ("cause", error.cause), ("fix", error.fix))
    if isinstance(error, ConfigError):
        parts = (("problems", error.evidence if error.evidence != error.message else ""), ("fix", error.fix))
    return _told(f"{error.code}  {error.message}{where}", (*parts, more(error.code)))


def explain_failure(failure: ToolFailure) -> str:
    origin = f" [{failure.server}/{failure.tool}]" if failure.server else ""
    cause = failure.cause if isinstance(failure.cause, str) else ""
    parts = (("evidence", _evidence(failure)), ("cause", cause), ("fix", failure.fix or _own_words(failure)))
    return _told(f"{failure.code}  {failure.kind}{origin}: {failure.message}", (*parts, more(failure.code)))


def _evidence(failure: ToolFailure) -> str:
    """With the number of a server's own error, which says more than its words to whoever makes the server."""
    number = failure.tool_code if failure.code == PeerRefused.code else None
    return "\n".join(filter(None, (f"error {number} of the protocol" if number else "", failure.evidence)))


def _own_words(failure: ToolFailure) -> str:
    """What to do about an error of the protocol that is told in the words of a server."""
    if failure.code != PeerRefused.code or not failure.server:
        return ""
    return f"these are the words of {failure.server}; `bascule logs {failure.server}` shows what it said beside them"


def more(code: str) -> tuple[str, str]:
    """Where the usual causes of an error are told, and how to mend each."""
    return "more", f"bascule explain {code}"


def as_json(error: BasculeError) -> ErrorShape:
    return {"code": error.code, "message": error.message, "evidence": error.evidence, "fix": error.fix}


def legible(text: str) -> str:
    """A server's words as they may be printed: what would move the cursor, or hide from the eye, shows as an escape."""
    return escaped("".join(c if c == "\n" or _prints(c) else repr(c)[1:-1] for c in text.expandtabs(4)))


def json_line(shape: Any) -> str:
    """A value as JSON on one line, in which nothing hides."""
    return escaped_json(msgspec.json.encode(shape).decode())


def finding_mark(findings: Sequence[Finding]) -> str:
    """What stands before the words of something in whose texts something was found."""
    return f"! {len(findings)} finding{'s' if len(findings) > 1 else ''}; " if findings else ""


def finding_shapes(findings: Iterable[Finding]) -> list[FindingShape]:
    return [msgspec.to_builtins(finding) for finding in findings]


def _prints(character: str) -> bool:
    """A joiner does not print, but where it belongs it may stay: `escaped` decides."""
    return character.isprintable() or character == "\u200d"


def first_line(text: str, width: int = 100) -> str:
    """The start of a description, on one line, without what could move the cursor."""
    line = legible(text.strip().split("\n")[0])
    return line if len(line) <= width else line[: width - 1] + "…"


def _told(head: str, parts: tuple[tuple[str, str], ...]) -> str:
    return legible("\n".join([*_indented(head), *_labelled(parts)]))


def _labelled(parts: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for label, text in parts:
        if text:
            yield from _indented(f"  {label + ':':<10}{text}")


def _indented(text: str) -> Iterator[str]:
    """Lines after the first stand deeper than any label, so that nobody's words can pass for one of ours."""
    first, *rest = text.split("\n")
    yield first
    yield from (f"  {'':<10}{line}" for line in rest)
