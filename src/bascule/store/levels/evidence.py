"""Evidence on the sensitivity level of one agent session: its row, its chained lines, its receipts and its datasets. It
decides the record, and the doubts that make it SECRET. Pure."""

from functools import cached_property
from typing import Final

import msgspec

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import SessionRecord
from bascule.store.levels.signed_statement import (
    FIRST,
    SETTLED,
    UNREADABLE,
    Line,
    Statement,
    Unreadable,
    Witnessed,
    WitnessedDataset,
    WitnessedLine,
)

JOURNAL_BEHIND = "the journal has lost what the database knows"
NO_JOURNAL = "the journal says nothing of it, and the database does"
BAD_ROW = "its row in the database cannot be read"
BAD_LINE = "its line in the journal cannot be read"
BROKEN_CHAIN = "one of its lines in the journal was removed, or put back"
OLD_LINE = "an older line stands after newer ones in the journal"
RECEIPT_AHEAD = "the journal and the database have lost a change that it has a receipt of"
BAD_RECEIPT = "one of its receipts cannot be read"
BAD_DATASET = "what is kept of one of its datasets cannot be read"
STRAY_RECEIPT = "both witnesses have lost it, and its receipts are there"
STRAY_DATASET = "both witnesses have lost it, and its datasets are there"

LARGEST = 1 << 31
"""Epoch of a receipt beyond which it was not Bascule that wrote it. Receipts have no MAC: an epoch that continued from
the largest number of a database could not be written any more."""


class LineChain(msgspec.Struct, frozen=True):
    """The lines of one agent session in the order of writing, reduced to what decides its level."""

    latest: Witnessed = None
    """The statement with the newest epoch of all lines; unreadable if no line can be read."""
    mac: str = FIRST
    """MAC of the last readable line. The next one names it."""
    doubt: str = ""
    """Why these lines are not all that were written, or not in their order."""
    receipt: int = 0
    """Number of the last receipt that an operator has settled."""
    chained: bool = False
    """Whether the lines of version 0.1.0 are over."""

    def extend(self, line: WitnessedLine, mac: str) -> "LineChain":
        """The chain with one more line, which has this MAC."""
        newest = self.latest if isinstance(self.latest, Statement) else None
        if line is UNREADABLE:
            return msgspec.structs.replace(self, latest=newest or UNREADABLE, doubt=self.doubt or BAD_LINE)
        statement, chained = (line.statement, True) if isinstance(line, Line) else (line, self.chained)
        if isinstance(line, Line) and line.before == SETTLED and (newest is None or statement.epoch > newest.epoch):
            return LineChain(statement, mac, receipt=line.receipt, chained=True)
        receipt = line.receipt if isinstance(line, Line) else self.receipt
        doubt = self.doubt or self._break(line, newest)
        return LineChain(later(newest, statement), mac, doubt, receipt, chained)

    def _break(self, line: Line | Statement, newest: Statement | None) -> str:
        """The reason why this line does not follow the last one."""
        if isinstance(line, Line):
            if line.before != self.mac:
                return BROKEN_CHAIN
            line = line.statement
        elif self.chained:
            return OLD_LINE
        return OLD_LINE if newest is not None and line.epoch < newest.epoch else ""

    def next_line(self, statement: Statement, settled: int | None = None) -> Line:
        """The line to write after these. With `settled`, an operator has settled the doubts so far, and all receipts up
        to that number."""
        if settled is not None:
            return Line(statement, SETTLED, settled)
        return Line(statement, self.mac, self.receipt)


NO_LINES: Final = LineChain()


class ReceiptEpochs(msgspec.Struct, frozen=True):
    """The receipts of one agent session, each with its number and its epoch; None for one that cannot be read."""

    found: tuple[tuple[int, int | None], ...] = ()

    @property
    def last(self) -> int:
        """Number of the last receipt."""
        return max((number for number, _ in self.found), default=0)

    @property
    def newest(self) -> int:
        """The newest epoch that Bascule can have written, or -1."""
        return max((epoch for _, epoch in self.found if epoch is not None and epoch <= LARGEST), default=-1)

    def doubt(self, newest: int, settled: int) -> str:
        """The reason why these are ahead of witnesses whose newest epoch this is."""
        counted = [
            epoch for number, epoch in self.found if number > settled or (epoch is not None and epoch <= LARGEST)
        ]
        if None in counted:
            return BAD_RECEIPT
        return RECEIPT_AHEAD if any(epoch is not None and epoch > newest for epoch in counted) else ""


NO_RECEIPTS: Final = ReceiptEpochs()


class Evidence(msgspec.Struct, frozen=True, dict=True):
    """Everything found of one agent session. `dict` is for the cached record."""

    principal: Principal
    row: Witnessed
    lines: LineChain = NO_LINES
    datasets: tuple[WitnessedDataset, ...] = ()
    receipts: ReceiptEpochs = NO_RECEIPTS

    @property
    def line(self) -> Witnessed:
        """The line in force."""
        return self.lines.latest

    @cached_property
    def record(self) -> SessionRecord | None:
        """The level, as far as this evidence proves it; None if the agent session has not begun.

        The line is always written before the row. So a line that is ahead of its row comes from a crash, or from a
        database that was restored, and holds. A row that is ahead of its line, or a receipt that is ahead of both,
        means that something is lost: the level is SECRET.
        """
        row, line = about(self.principal, self.row), about(self.principal, self.line)
        if row is None and line is None and not self.datasets and not self.receipts.found:
            return None
        known = self._known_datasets()
        readable = self.readable()
        latest = max((each.epoch for each in readable), default=-1)
        doubt = self._doubt(row, line, latest) or (BAD_DATASET if len(known) < len(self.datasets) else "")
        # In doubt, each of the two may be older than one that was lost: an end that either of them names holds.
        words = readable if doubt else [each for each in readable if each.epoch == latest]
        return SessionRecord(
            self.principal,
            DataSensitivity.SECRET if doubt else max(each.level for each in words),
            epoch=max(latest, 0),
            ended=any(each.ended for each in words),
            datasets=known,
            since=min((each.since for each in words), default=0.0),
            doubt=doubt or next((each.doubt for each in words if each.doubt), ""),
        )

    @property
    def settled(self) -> bool:
        """True if row and line are equal, and no doubt is left to write down."""
        record, row = self.record, self.row
        if record is None or not isinstance(row, Statement) or row != self.line:
            return False
        return (row.level, row.ended, row.doubt) == (record.level, record.ended, record.doubt)

    def readable(self) -> list[Statement]:
        """Row and line, as far as each can be read."""
        found = (about(self.principal, each) for each in (self.row, self.line))
        return [each for each in found if isinstance(each, Statement)]

    def _known_datasets(self) -> dict[str, DataSensitivity]:
        of = (self.principal.user_id, self.principal.session_id)
        return {
            each.dataset: each.level
            for each in self.datasets
            if each is not UNREADABLE and (each.user_id, each.session_id) == of
        }

    def _doubt(self, row: Witnessed, line: Witnessed, latest: int) -> str:
        if row is None and line is None:
            return STRAY_RECEIPT if self.receipts.found else STRAY_DATASET
        return _contradiction(row, line) or self.lines.doubt or self.receipts.doubt(latest, self.lines.receipt)


def _contradiction(row: Witnessed, line: Witnessed) -> str:
    match row, line:
        case Unreadable.UNREADABLE, _:
            return BAD_ROW
        case _, Unreadable.UNREADABLE:
            return BAD_LINE
        case Statement(), None:
            return NO_JOURNAL
        case Statement(), Statement() if line.epoch < row.epoch:
            return JOURNAL_BEHIND
        case _:
            return ""


def about(principal: Principal, witnessed: Witnessed) -> Witnessed:
    """The same, if it is of this principal. A valid statement on another one was put in its place."""
    if not isinstance(witnessed, Statement):
        return witnessed
    fits = (witnessed.user_id, witnessed.session_id) == (principal.user_id, principal.session_id)
    return witnessed if fits else UNREADABLE


def about_line(principal: Principal, line: WitnessedLine) -> WitnessedLine:
    """The same, if it is of this principal."""
    statement = line.statement if isinstance(line, Line) else line
    return UNREADABLE if about(principal, statement) is UNREADABLE else line


def later(one: Statement | None, other: Statement) -> Statement:
    """Of two statements the one with the later epoch. Of one epoch, the more private one."""
    if one is None or other.epoch > one.epoch:
        return other
    if other.epoch < one.epoch:
        return one
    level, ended = max(one.level, other.level), one.ended or other.ended
    return msgspec.structs.replace(one, level=level, ended=ended, doubt=one.doubt or other.doubt)
