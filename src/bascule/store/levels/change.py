"""Change of a sensitivity level: the statement to write, decided from both witnesses. Pure."""

from functools import cached_property

import msgspec

from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Change
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import SessionRecord
from bascule.store.levels.signed_statement import (
    DatasetStatement,
    Statement,
    Witnessed,
    WitnessedDataset,
    about,
    evaluate,
)

RECOVERED = Cause(by="recovery", reason="the change was in the journal and not in the database")
"""Why there is a receipt for a change that was cut short: whoever made it did not live to write one."""


class Evidence(msgspec.Struct, frozen=True, dict=True):
    """All that is kept of one agent session, as it was found. `dict` is for what is worked out once."""

    principal: Principal
    row: Witnessed
    line: Witnessed
    datasets: tuple[WitnessedDataset, ...] = ()

    @cached_property
    def record(self) -> SessionRecord | None:
        return evaluate(self.principal, self.row, self.line, self.datasets)

    @property
    def settled(self) -> bool:
        """Whether both witnesses say in the same words what is to be believed."""
        record, row = self.record, self.row
        if record is None or not isinstance(row, Statement) or row != self.line:
            return False
        return (row.level, row.ended, row.doubt) == (record.level, record.ended, record.doubt)


class Draft(msgspec.Struct, frozen=True):
    """What is to be written: first the line, then the row, and with it a receipt if `change` says of what."""

    statement: Statement
    before: DataSensitivity = DataSensitivity.PUBLIC
    change: Change | None = None
    told: bool = False
    """Whether the journal has this statement already, so that only the database lacks it."""

    def after(self, evidence: Evidence) -> Evidence:
        """What will be found when it is written."""
        return Evidence(evidence.principal, self.statement, self.statement, evidence.datasets)


def begun(evidence: Evidence, at: float) -> Draft | None:
    """None if there is nothing to write. A doubt is not written down: once the damage is repaired it is gone."""
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
    # Nothing else would tell of this raise once the damage is repaired, nor other runtimes that knew of no doubt.
    before = max((each.level for each in _readable(evidence)), default=DataSensitivity.PUBLIC)
    return Draft(_next(evidence, record), before, "raise" if before < record.level else None)


def lowered(evidence: Evidence, level: DataSensitivity) -> Draft:
    record = _known(evidence)
    if level >= record.level:
        raise UsageError(
            f"{evidence.principal} is {record.level.name}, which is not above {level.name}",
            fix="name a lower level; only what holds private data raises one",
        )
    return Draft(_next(evidence, record, level=level, doubt=""), record.level, "declassify")


def ended(evidence: Evidence) -> Draft:
    record = _known(evidence)
    return Draft(_next(evidence, record, ended=True), record.level, "end")


def seen(evidence: Evidence, dataset: str, level: DataSensitivity) -> DatasetStatement | None:
    """What is to be kept of a dataset that is added. None if as much is kept already."""
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
    return Statement(
        evidence.principal.user_id,
        evidence.principal.session_id,
        record.level if level is None else level,
        epoch=max((each.epoch for each in _readable(evidence)), default=-1) + 1,
        ended=record.ended or ended,
        since=record.since,
        doubt=record.doubt if doubt is None else doubt,
    )


def _readable(evidence: Evidence) -> list[Statement]:
    found = (about(evidence.principal, each) for each in (evidence.row, evidence.line))
    return [each for each in found if isinstance(each, Statement)]
