"""Audit records made from events: counts, names and codes, and no free text of servers or callers."""

from collections.abc import Callable, Mapping
from typing import Any

from bascule.core.events import (
    CallUndone,
    CatalogChanged,
    ConfigApplied,
    ConfigRejected,
    HostAsked,
    LinkChanged,
    PersonAnswered,
    QuestionAnswered,
    RefreshFailed,
    RequestEnded,
    ToolInvoked,
    ToolsApproved,
    ToolsQuarantined,
    WorkspacesMarked,
)
from bascule.core.outcome import FailureKind, PromptResult, ToolFailure
from bascule.core.undo.transaction import Ending, Remote
from bascule.records.audit.pseudonyms import LONGEST_NAME, Aliases, short_code
from bascule.records.audit.records import (
    AnswerRecord,
    ApprovedRecord,
    CatalogRecord,
    ConfigRecord,
    Ended,
    HostRecord,
    LinkRecord,
    MarkedRecord,
    QuarantineRecord,
    QuestionRecord,
    Record,
    RefreshRecord,
    UndoneRecord,
)

MOST_NAMED = 100
"""Names of tools in one record."""

PASSING = frozenset({"configured", "connecting"})
"""States on the way to another, which tells it all."""

NONE: Mapping[str, str] = {}

UNSENT = frozenset({FailureKind.DENIED, FailureKind.INVALID_ARGUMENTS, FailureKind.UNKNOWN_TOOL})
"""Failures of requests that were stopped here."""


Recorded = tuple[Record, bool]
"""A record, and whether it is of a request that was sent: then it must not be lost."""


def _tool(event: ToolInvoked, seq: int, aliases: Aliases) -> Recorded:
    outcome = event.outcome
    if type(outcome) is ToolFailure:
        record, kept = _failed(event, outcome, seq, aliases, outcome.tool, "")
    else:
        record, kept = _ended(event, seq, aliases, outcome.tool, ""), True
    if event.source == "native":
        record.source = event.source
    return record, kept


def _request(event: RequestEnded, seq: int, aliases: Aliases) -> Recorded:
    outcome = event.outcome
    if type(outcome) is ToolFailure:
        return _failed(event, outcome, seq, aliases, outcome.tool if event.server else event.subject, event.method)
    name = outcome.prompt if isinstance(outcome, PromptResult) else event.subject
    return _ended(event, seq, aliases, aliases.subject(event.method, name), event.method), True


def _ended(event: ToolInvoked | RequestEnded, seq: int, aliases: Aliases, tool: str, method: str) -> Ended:
    principal, noted = event.principal, event.noted
    return Ended(
        seq,
        event.at,
        principal.user_id,
        principal.session_id,
        event.server,
        tool,
        event.lane,
        "ok",
        event.seconds,
        noted,
        NONE if noted else aliases.shapes(event.arguments),
        method,
        findings=len(event.findings),
    )


def _failed(
    event: ToolInvoked | RequestEnded, failure: ToolFailure, seq: int, aliases: Aliases, subject: str, method: str
) -> tuple[Ended, bool]:
    # What led to no server is the caller's word alone, and may be anything.
    tool = aliases.subject(method, subject) if event.server else aliases.of(subject)
    record = _ended(event, seq, aliases, tool, method)
    record.outcome, record.code, record.rule = failure.kind, failure.code, event.rule
    record.tool_code, record.status = short_code(failure.tool_code), failure.status
    if event.remote is Remote.UNKNOWN:
        record.remote = event.remote
    if event.local is not Ending.NOTHING:
        record.local = event.local
    return record, event.noted > 0 or failure.kind not in UNSENT


def _undone(event: CallUndone, seq: int, _aliases: Aliases) -> Recorded:
    who = event.principal
    return UndoneRecord(seq, event.at, who.user_id, who.session_id, event.server, event.tool, event.local), True


def _catalog(event: CatalogChanged, seq: int, _aliases: Aliases) -> Recorded:
    counts = (len(event.added), len(event.changed), len(event.removed), len(event.findings))
    return CatalogRecord(seq, event.at, event.server, event.kind, *counts), False


def _quarantine(event: ToolsQuarantined, seq: int, _aliases: Aliases) -> Recorded:
    return QuarantineRecord(seq, event.at, event.server, _named(event.tools), _named(event.released)), False


def _answer(event: PersonAnswered, seq: int, _aliases: Aliases) -> Recorded:
    who = event.principal
    told = (event.server, event.tool[:LONGEST_NAME], event.answer, _person(event.by))
    return AnswerRecord(seq, event.at, who.user_id, who.session_id, *told), event.answer == "agreed"


def _approved(event: ToolsApproved, seq: int, _aliases: Aliases) -> Recorded:
    return ApprovedRecord(seq, event.at, event.server, _named(event.tools), _person(event.by)), True


def _marked(event: WorkspacesMarked, seq: int, _aliases: Aliases) -> Recorded:
    return MarkedRecord(seq, event.at, event.count), True


def _link(event: LinkChanged, seq: int, _aliases: Aliases) -> Recorded | None:
    if event.state in PASSING:
        return None
    who = event.principal
    told = (who.user_id, who.session_id, str(event.state), event.code)
    return LinkRecord(seq, event.at, event.server, event.lane, *told), False


def _refresh(event: RefreshFailed, seq: int, _aliases: Aliases) -> Recorded:
    who = event.principal
    return RefreshRecord(seq, event.at, event.server, event.lane, who.user_id, who.session_id), False


def _question(event: QuestionAnswered, seq: int, aliases: Aliases) -> Recorded:
    who = event.principal
    method = event.method if event.method in ASKED else aliases.of(event.method)
    told = (who.user_id, who.session_id, event.lane, event.answer)
    removed = len(event.findings)
    # An address that a person was nearly given must not be missing.
    return QuestionRecord(seq, event.at, method, event.server, *told, findings=removed), removed > 0


def _host(event: HostAsked, seq: int, aliases: Aliases) -> Recorded:
    who = event.principal
    host = aliases.of(event.host) if event.refused else event.host
    told = (event.port, event.refused, event.status, event.sent, event.received, event.ended)
    # What got out must not be missing.
    return HostRecord(seq, event.at, event.server, who.user_id, who.session_id, host, *told), not event.refused


def _applied(event: ConfigApplied, seq: int, _aliases: Aliases) -> Recorded:
    names = (event.added, event.removed, event.restarted, event.retuned)
    return ConfigRecord(seq, event.at, True, *names), False  # noqa: FBT003 -- whether it was applied


def _rejected(event: ConfigRejected, seq: int, _aliases: Aliases) -> Recorded:
    return ConfigRecord(seq, event.at, applied=False, code=event.error.code), False


def _person(name: str) -> str:
    """A name of this machine, which need not be text."""
    return name.encode("utf-8", "replace").decode()


def _named(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name[:LONGEST_NAME] for name in names[:MOST_NAMED])


ASKED = frozenset({"elicitation/create", "sampling/createMessage"})
"""What servers can ask. Whatever else they call it is their own word."""

RECORDS: Mapping[type, Callable[[Any, int, Aliases], Recorded | None]] = {
    ToolInvoked: _tool,
    RequestEnded: _request,
    CallUndone: _undone,
    CatalogChanged: _catalog,
    ToolsQuarantined: _quarantine,
    PersonAnswered: _answer,
    ToolsApproved: _approved,
    WorkspacesMarked: _marked,
    LinkChanged: _link,
    RefreshFailed: _refresh,
    QuestionAnswered: _question,
    HostAsked: _host,
    ConfigApplied: _applied,
    ConfigRejected: _rejected,
}
"""How each event is written down; None for those that only lead to others. Events that are not here are told in another
way, or not at all."""
