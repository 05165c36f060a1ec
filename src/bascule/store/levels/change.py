"""Change of a sensitivity level: the statement to write, decided from both witnesses. Pure."""

import msgspec

from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Change
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.evidence import Evidence, LineChain
from bascule.store.levels.interface import SessionRecord
from bascule.store.levels.signed_statement import DatasetStatement, Statement

RECOVERED = Cause(by="recovery", reason="the change was in the journal and not in the database")
"""Cause in the receipt of a change that was cut short: its own writer ended before it wrote one."""


class Draft(msgspec.Struct, frozen=True):
    """Statement to write: first as a line, then as a row, and with the row a receipt if `change` names its kind."""

    statement: Statement
    before: DataSensitivity = DataSensitivity.PUBLIC
    change: Change | None = None
    told: bool = False
    """Whether the journal has this statement already, so that only the database lacks it."""
    settled: int | None = None
    """Where an operator declassifies in doubt: the number of the last receipt. The line then begins a new chain."""

    def after(self, evidence: Evidence) -> Evidence:
        """The evidence once this is written."""
        lines, receipts = evidence.lines, evidence.receipts
        doubt, settled = (lines.doubt, lines.receipt) if self.settled is None else ("", self.settled)
        written = LineChain(self.statement, lines.mac, doubt, settled, chained=True)
        return Evidence(evidence.principal, self.statement, written, evidence.datasets, receipts)


def begun(evidence: Evidence, at: float) -> Draft | None:
    """The draft of a beginning or a recovery; None if there is nothing to write. A doubt is not written down: once the
    damage is repaired, it is gone."""
    record = evidence.record
    if record is None:
        return Draft(_first(evidence.principal, DataSensitivity.PUBLIC, at))
    if evidence.settled or record.doubt:
        return None
    return _recovered(evidence, record)


def raised(evidence: Evidence, level: DataSensitivity, at: float) -> Draft | None:
    record = evidence.record
    if record is None:
        statement = _first(evidence.principal, level, at)
        return Draft(statement, change="raise" if level > DataSensitivity.PUBLIC else None)
    if level > record.level:
        return Draft(_next(evidence, record, level=level), record.level, "raise")
    if evidence.settled:
        return None
    if not record.doubt:
        return _recovered(evidence, record)
    # Once the damage is repaired, nothing else records this raise. And runtimes that have read no doubt need a receipt.
    before = max((each.level for each in evidence.readable()), default=DataSensitivity.PUBLIC)
    return Draft(_next(evidence, record), before, "raise" if before < record.level else None)


def lowered(evidence: Evidence, level: DataSensitivity) -> Draft:
    record = _known(evidence)
    if level >= record.level:
        raise UsageError(
            f"{evidence.principal} is {record.level.name}, which is not above {level.name}",
            fix="name a lower level; only what holds private data raises one",
        )
    settled = evidence.receipts.last if record.doubt else None
    return Draft(_next(evidence, record, level=level, doubt=""), record.level, "declassify", settled=settled)


def ended(evidence: Evidence) -> Draft:
    record = _known(evidence)
    return Draft(_next(evidence, record, ended=True), record.level, "end")


def seen(evidence: Evidence, dataset: str, level: DataSensitivity) -> DatasetStatement | None:
    """The statement to keep on a dataset that is added; None if the same level or a higher one is kept."""
    record = evidence.record
    if record is not None and record.datasets.get(dataset, -1) >= level:
        return None
    return DatasetStatement(evidence.principal.user_id, evidence.principal.session_id, dataset, level)


def _known(evidence: Evidence) -> SessionRecord:
    if evidence.record is None:
        raise UsageError(
            f"there is no agent session {evidence.principal}", fix="`bascule sessions` lists those that there are"
        )
    return evidence.record


def _recovered(evidence: Evidence, record: SessionRecord) -> Draft:
    row, line = evidence.row, evidence.line
    assert isinstance(line, Statement)  # else there would be doubt
    if isinstance(row, Statement) and row.epoch == line.epoch:
        return Draft(_next(evidence, record), record.level)
    before = row if isinstance(row, Statement) else _first(evidence.principal, DataSensitivity.PUBLIC, line.since)
    return Draft(line, before.level, _change(before, line), told=True)


def _change(before: Statement, after: Statement) -> Change | None:
    if after.ended and not before.ended:
        return "end"
    if after.level == before.level:
        return None
    return "raise" if after.level > before.level else "declassify"


def _first(principal: Principal, level: DataSensitivity, at: float) -> Statement:
    epoch = int(level > DataSensitivity.PUBLIC)  # it begins PUBLIC, and is raised in the same moment
    return Statement(principal.user_id, principal.session_id, level, epoch, ended=False, since=at)


def _next(
    evidence: Evidence,
    record: SessionRecord,
    *,
    level: DataSensitivity | None = None,
    ended: bool = False,
    doubt: str | None = None,
) -> Statement:
    # Above the receipts too: a runtime that knows a change which both witnesses have lost ignores older epochs.
    newest = max((each.epoch for each in evidence.readable()), default=-1)
    return Statement(
        evidence.principal.user_id,
        evidence.principal.session_id,
        record.level if level is None else level,
        epoch=max(newest, evidence.receipts.newest) + 1,
        ended=record.ended or ended,
        since=record.since,
        doubt=record.doubt if doubt is None else doubt,
    )
