"""Events as the audit log tells them: counts, names and codes, and nobody's words."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bascule.core.events import (
    CatalogChanged,
    ConfigApplied,
    ConfigRejected,
    LinkChanged,
    QuestionAnswered,
    RefreshFailed,
    RequestEnded,
    ToolInvoked,
    ToolsQuarantined,
)
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.records.audit_alias import LONGEST_NAME, Aliases, short_code
from bascule.records.audit_record import (
    CatalogRecord,
    ConfigRecord,
    Ended,
    LinkRecord,
    QuarantineRecord,
    QuestionRecord,
    Record,
    RefreshRecord,
)

MOST_NAMED = 100
"""Names of tools in one record."""

PASSING = frozenset({"configured", "connecting"})
"""States on the way to another, which tells it all."""

UNSENT = frozenset({FailureKind.DENIED, FailureKind.INVALID_ARGUMENTS, FailureKind.UNKNOWN_TOOL})
"""Failures of requests that were stopped here."""


class Recorded(msgspec.Struct, frozen=True, gc=False):
    """A record, and how urgent it is."""

    record: Record
    sent: bool = False
    """Whether it is of a request that was sent: it must not be lost."""
    now: bool = False
    """Whether it is written at once."""


def record_of(event: object, seq: int, aliases: Aliases) -> Recorded | None:
    """The record of an event; None of those that are told in another way, or not at all."""
    make = _MADE.get(type(event))
    return make(event, seq, aliases) if make is not None else None


def _tool(event: ToolInvoked, seq: int, aliases: Aliases) -> Recorded:
    return _ended(event, event.outcome.tool, "", seq, aliases)


def _request(event: RequestEnded, seq: int, aliases: Aliases) -> Recorded:
    return _ended(event, event.subject, event.method, seq, aliases)


def _ended(event: ToolInvoked | RequestEnded, subject: str, method: str, seq: int, aliases: Aliases) -> Recorded:
    outcome, principal = event.outcome, event.principal
    # What led to no server is the caller's word alone, and may be anything.
    tool = aliases.subject(method, subject) if event.server else aliases.of(subject)
    record = Ended(
        seq,
        event.at,
        principal.user_id,
        principal.session_id,
        event.server,
        tool,
        event.lane,
        "ok",
        event.seconds,
        aliases.shapes(event.arguments),
        event.noted,
        method,
    )
    sent = True
    if type(outcome) is ToolFailure:
        record.outcome, record.code, record.rule = outcome.kind, outcome.code, event.rule
        record.tool_code, record.status = short_code(outcome.tool_code), outcome.status
        sent = event.noted > 0 or outcome.kind not in UNSENT
        if outcome.kind is FailureKind.INVALID_ARGUMENTS or not event.server:
            record.arguments = aliases.nameless(event.arguments)
    if event.findings:
        record.findings = len(event.findings)
    return Recorded(record, sent, event.noted > 0)


def _catalog(event: CatalogChanged, seq: int, _aliases: Aliases) -> Recorded:
    counts = (len(event.added), len(event.changed), len(event.removed), len(event.findings))
    return Recorded(CatalogRecord(seq, event.at, event.server, event.kind, *counts))


def _quarantine(event: ToolsQuarantined, seq: int, _aliases: Aliases) -> Recorded:
    return Recorded(QuarantineRecord(seq, event.at, event.server, _named(event.tools), _named(event.released)))


def _link(event: LinkChanged, seq: int, _aliases: Aliases) -> Recorded | None:
    if event.state in PASSING:
        return None
    who = event.principal
    return Recorded(
        LinkRecord(
            seq, event.at, event.server, event.lane, who.user_id, who.session_id, str(event.state), code=event.code
        )
    )


def _refresh(event: RefreshFailed, seq: int, _aliases: Aliases) -> Recorded:
    who = event.principal
    return Recorded(RefreshRecord(seq, event.at, event.server, event.lane, who.user_id, who.session_id))


def _question(event: QuestionAnswered, seq: int, aliases: Aliases) -> Recorded:
    who = event.principal
    method = event.method if event.method in ASKED else aliases.of(event.method)
    return Recorded(
        QuestionRecord(seq, event.at, method, event.server, who.user_id, who.session_id, event.lane, event.answer)
    )


def _applied(event: ConfigApplied, seq: int, _aliases: Aliases) -> Recorded:
    return Recorded(
        ConfigRecord(
            seq,
            event.at,
            applied=True,
            added=event.added,
            removed=event.removed,
            restarted=event.restarted,
            retuned=event.retuned,
        )
    )


def _rejected(event: ConfigRejected, seq: int, _aliases: Aliases) -> Recorded:
    return Recorded(ConfigRecord(seq, event.at, applied=False, code=event.error.code))


def _named(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name[:LONGEST_NAME] for name in names[:MOST_NAMED])


ASKED = frozenset({"elicitation/create", "sampling/createMessage"})
"""What servers can ask. Whatever else they call it is their own word."""

_MADE: Mapping[type, Callable[[Any, int, Aliases], Recorded | None]] = {
    ToolInvoked: _tool,
    RequestEnded: _request,
    CatalogChanged: _catalog,
    ToolsQuarantined: _quarantine,
    LinkChanged: _link,
    RefreshFailed: _refresh,
    QuestionAnswered: _question,
    ConfigApplied: _applied,
    ConfigRejected: _rejected,
}
