"""View models of agent sessions: the ladder of sensitivity levels, receipts, and the policy's verdict on each tool."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bascule.core.principal import Principal
from bascule.core.receipt import Receipt
from bascule.core.sensitivity import DataSensitivity, Lane, lane_for
from bascule.dashboard.session_ids import session_id
from bascule.dashboard.views.shapes import Forecast, ReceiptView, Rung, SessionRow, VerdictView
from bascule.policy.verdict import Allow, Ask
from bascule.records.feed.feed import SessionNote
from bascule.runtime.admin import Foreseen
from bascule.runtime.levels.raising import in_words
from bascule.runtime.session_context import Standing
from bascule.store.levels.interface import SessionRecord

ITSELF = "itself"


def row_of(standing: Standing, note: SessionNote, waiting: int) -> SessionRow:
    """One that the runtime has in memory."""
    ratchet = standing.ratchet
    how = (ratchet.level, ratchet.because, ratchet.known, ratchet.ended)
    return _row(standing.principal, how, note, waiting)


def row_of_record(record: SessionRecord, because: str, note: SessionNote) -> SessionRow:
    """One that was forgotten, by what is kept of it."""
    return _row(record.principal, (record.level, record.doubt or because, True, record.ended), note, 0)


def row_unread(principal: Principal, because: str, note: SessionNote) -> SessionRow:
    """One of which nothing can be read: it counts as secret."""
    return _row(principal, (DataSensitivity.SECRET, because, False, False), note, 0)


def _row(
    principal: Principal, how: tuple[DataSensitivity, str, bool, bool], note: SessionNote, waiting: int
) -> SessionRow:
    level, because, known, ended = how
    return SessionRow(
        id=session_id(principal),
        user=principal.user_id,
        session=principal.session_id,
        level=word(level),
        lane=lane_for(level),
        because=because,
        known=known,
        ended=ended,
        calls=note.calls,
        failures=note.failures,
        refused=note.refused,
        waiting=waiting,
        last=note.last,
    )


def word(level: DataSensitivity) -> str:
    return level.name.lower()


def ladder(level: str, receipts: Sequence[Receipt]) -> Iterator[Rung]:
    """Every level, lowest first, each with what last raised the agent session to it."""
    now = DataSensitivity[level.upper()]
    raised = {receipt.after: receipt for receipt in receipts if receipt.change == "raise"}
    for each in DataSensitivity:
        reached = raised.get(each) if each <= now else None
        place = "now" if each is now else "below" if each < now else "above"
        yield Rung(word(each), lane_for(each), place, receipt_view(reached) if reached is not None else None)


def receipt_view(receipt: Receipt) -> ReceiptView:
    cause = receipt.cause
    return ReceiptView(
        number=receipt.number,
        at=receipt.at,
        change=receipt.change,
        before=word(receipt.before),
        after=word(receipt.after),
        cause=in_words(cause),
        by=cause.by,
        server=cause.server,
        tool=cause.tool,
        dataset=cause.dataset,
        closed=receipt.closed,
        twins=dict(receipt.twins),
        fence=receipt.fence,
    )


Twins = Mapping[str, str]


def forecasts(
    now: Iterable[Foreseen], then: Iterable[Foreseen], twins: tuple[Mapping[DataSensitivity, Twins], Twins]
) -> Iterator[Forecast]:
    """Both in the same order, as they were foreseen in one step."""
    by_level, none = twins
    for one, other in zip(now, then, strict=True):
        key = one.spec.key
        before = verdict_view(one, by_level.get(one.facts.level, none))
        after = verdict_view(other, by_level.get(other.facts.level, none))
        changes = (before.verdict, before.by, before.lane) != (after.verdict, after.by, after.lane)
        raises = word(one.raises) if one.raises else ""
        permissions = tuple(sorted(one.spec.permissions))
        yield Forecast(one.spec.name, key.server, key.tool, permissions, before, after, changes, raises)


def verdict_view(foreseen: Foreseen, twins: Twins) -> VerdictView:
    verdict, lane = foreseen.verdict, foreseen.facts.lane
    by = ITSELF if lane is Lane.OPEN else twins.get(foreseen.spec.key.server, "")
    if isinstance(verdict, Allow):
        return VerdictView("allow", by, lane, "", "", "")
    if isinstance(verdict, Ask):
        return VerdictView("ask", by, lane, verdict.rule, verdict.message, "")
    return VerdictView("refuse", "", lane, verdict.rule, verdict.message, verdict.fix)
