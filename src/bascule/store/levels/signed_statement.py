"""Signed statement (MAC) of a witness on the sensitivity level of one agent session, and evaluation of two
witnesses."""

import hmac
from collections.abc import Iterable
from enum import Enum
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import SessionRecord


class Statement(msgspec.Struct, frozen=True, array_like=True):
    """What one witness says of one agent session. The later epoch is the later word."""

    user_id: str
    session_id: str
    level: DataSensitivity
    epoch: int
    ended: bool
    since: float
    doubt: str = ""
    """Why the level is SECRET although nobody raised it to that. Only an operator takes it back."""


class DatasetStatement(msgspec.Struct, frozen=True, array_like=True):
    """The highest level that a private dataset was ever given in one agent session."""

    user_id: str
    session_id: str
    dataset: str
    level: DataSensitivity


class RuntimeStatement(msgspec.Struct, frozen=True, array_like=True):
    """Statement of a runtime on itself: the last receipt that it has applied, or its end."""

    id: str
    number: int
    fingerprint: str
    left: float = 0.0
    """Seconds since the epoch when it ended; 0 while it runs."""


class Unreadable(Enum):
    """There is something, and it cannot be believed."""

    UNREADABLE = "unreadable"


UNREADABLE: Final = Unreadable.UNREADABLE

Witnessed: TypeAlias = Statement | Literal[Unreadable.UNREADABLE] | None
"""A statement as it was found; None where there is nothing at all."""

WitnessedDataset: TypeAlias = DatasetStatement | Literal[Unreadable.UNREADABLE]

Sealed: TypeAlias = Statement | DatasetStatement | RuntimeStatement

S = TypeVar("S", Statement, DatasetStatement, RuntimeStatement)

_MAC = 64
"""Characters of a MAC: SHA-256, in hexadecimal."""

JOURNAL_BEHIND = "the journal has lost what the database knows"
NO_JOURNAL = "the journal says nothing of it, and the database does"
BAD_ROW = "its row in the database cannot be read"
BAD_LINE = "its line in the journal cannot be read"
BAD_DATASET = "what is kept of one of its datasets cannot be read"
STRAY_DATASET = "both witnesses have lost it, and its datasets are there"


def seal(statement: Sealed, key: bytes) -> bytes:
    """One line without its end: a MAC, a space, and the statement. Both witnesses keep exactly this."""
    body = msgspec.json.encode(statement)
    return _mac(body, type(statement), key) + b" " + body


def read_statement(sealed: object, key: bytes) -> Statement | Literal[Unreadable.UNREADABLE]:
    return _read(sealed, key, Statement)


def read_dataset(sealed: object, key: bytes) -> WitnessedDataset:
    return _read(sealed, key, DatasetStatement)


def read_runtime(sealed: object, key: bytes) -> RuntimeStatement | Literal[Unreadable.UNREADABLE]:
    return _read(sealed, key, RuntimeStatement)


def _read(sealed: object, key: bytes, kind: type[S]) -> S | Literal[Unreadable.UNREADABLE]:
    # A damaged database gives back any type.
    if not isinstance(sealed, bytes) or sealed[_MAC : _MAC + 1] != b" ":
        return UNREADABLE
    body = sealed[_MAC + 1 :]
    if not hmac.compare_digest(sealed[:_MAC], _mac(body, kind, key)):
        return UNREADABLE
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError:
        return UNREADABLE  # an honest word of another version


def _mac(body: bytes, kind: type[Sealed], key: bytes) -> bytes:
    # The kind is part of what is signed: a word on a dataset is never taken for one on an agent session.
    return hmac.digest(key, kind.__name__.encode() + b"\n" + body, "sha256").hex().encode()


def evaluate(
    principal: Principal, row: Witnessed, line: Witnessed, datasets: Iterable[WitnessedDataset] = ()
) -> SessionRecord | None:
    """What is true of an agent session, as far as both witnesses can tell; None if it has not begun.

    The line is always written before the row. So a line that is ahead of its row is what a crash, or a database that
    was put back, leaves behind; and a row that is ahead of its line means that the journal has lost something.
    """
    row, line = about(principal, row), about(principal, line)
    kept = tuple(datasets)
    known = {
        each.dataset: each.level
        for each in kept
        if each is not UNREADABLE and (each.user_id, each.session_id) == (principal.user_id, principal.session_id)
    }
    if row is None and line is None and not kept:
        return None
    doubt = _doubt(row, line) or (BAD_DATASET if len(known) < len(kept) else "")
    readable = [each for each in (row, line) if isinstance(each, Statement)]
    latest = max((each.epoch for each in readable), default=-1)
    # A word that is in doubt may be older than the one that was lost: whoever has ended it, it stays ended.
    words = readable if doubt else [each for each in readable if each.epoch == latest]
    return SessionRecord(
        principal,
        DataSensitivity.SECRET if doubt else max(each.level for each in words),
        epoch=max(latest, 0),
        ended=any(each.ended for each in words),
        datasets=known,
        since=min((each.since for each in words), default=0.0),
        doubt=doubt or next((each.doubt for each in words if each.doubt), ""),
    )


def _doubt(row: Witnessed, line: Witnessed) -> str:
    match row, line:
        case Unreadable.UNREADABLE, _:
            return BAD_ROW
        case _, Unreadable.UNREADABLE:
            return BAD_LINE
        case None, None:
            return STRAY_DATASET
        case Statement(), None:
            return NO_JOURNAL
        case Statement(), Statement() if line.epoch < row.epoch:
            return JOURNAL_BEHIND
        case _:
            return ""


def about(principal: Principal, witnessed: Witnessed) -> Witnessed:
    """The same, if it speaks of this principal."""
    if not isinstance(witnessed, Statement):
        return witnessed
    # A true word on somebody else, put in this one's place.
    fits = (witnessed.user_id, witnessed.session_id) == (principal.user_id, principal.session_id)
    return witnessed if fits else UNREADABLE


def later(one: Statement | None, other: Statement) -> Statement:
    """Of two statements in one witness the one that holds. Of one epoch, the more private one."""
    if one is None or other.epoch > one.epoch:
        return other
    if other.epoch < one.epoch:
        return one
    level, ended = max(one.level, other.level), one.ended or other.ended
    return msgspec.structs.replace(one, level=level, ended=ended, doubt=one.doubt or other.doubt)
