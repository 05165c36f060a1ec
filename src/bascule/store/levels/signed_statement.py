"""Signed statements (MAC) on the sensitivity level of an agent session: rows, lines of the journal, and datasets."""

import hmac
from enum import Enum
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from bascule.core.sensitivity import DataSensitivity


class Statement(msgspec.Struct, frozen=True, array_like=True):
    """Level of one agent session after one change. Of two statements the one with the later epoch holds."""

    user_id: str
    session_id: str
    level: DataSensitivity
    epoch: int
    ended: bool
    since: float
    doubt: str = ""
    """Why the level is SECRET without a raise to SECRET. Only an operator clears it."""


class Line(msgspec.Struct, frozen=True, array_like=True):
    """Line of the second witness: a statement, chained to the line before it of the same agent session. Lines of
    version 0.1.0 are bare statements."""

    statement: Statement
    before: str
    """MAC of the line before it, or `FIRST`, `SETTLED` or `BROKEN`. Its own MAC covers this."""
    receipt: int = 0
    """Number of the last receipt that an operator has settled: up to it no unreadable receipt is a doubt."""


FIRST: Final = ""
"""In place of a MAC: the first line of an agent session, in this table or file."""

SETTLED: Final = "settled"
"""In place of a MAC: an operator has declassified in doubt, so the lines before do not count any more."""

BROKEN: Final = "broken"
"""In place of a MAC: the lines that were left out before this one were in doubt."""


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
    """Something is there, and its MAC or its format is wrong."""

    UNREADABLE = "unreadable"


UNREADABLE: Final = Unreadable.UNREADABLE

Witnessed: TypeAlias = Statement | Literal[Unreadable.UNREADABLE] | None
"""A statement as it was found; None where there is nothing at all."""

WitnessedLine: TypeAlias = Line | Statement | Literal[Unreadable.UNREADABLE]
"""A line as it was found: a bare statement if version 0.1.0 wrote it."""

WitnessedDataset: TypeAlias = DatasetStatement | Literal[Unreadable.UNREADABLE]

Signed: TypeAlias = Statement | Line | DatasetStatement | RuntimeStatement

S = TypeVar("S", Statement, Line, DatasetStatement, RuntimeStatement)

_MAC = 64
"""Characters of a MAC: SHA-256, in hexadecimal."""

_CHAINED = b" [["
"""Follows the MAC of a chained line: its first member is an array, the one of a bare statement a string."""


def seal(statement: Signed, key: bytes) -> bytes:
    """One line without its end: a MAC, a space, and the statement. Both witnesses keep exactly this."""
    body = msgspec.json.encode(statement)
    return _mac(body, type(statement), key) + b" " + body


def read_statement(sealed: object, key: bytes) -> Statement | Literal[Unreadable.UNREADABLE]:
    return _read(sealed, key, Statement)


def read_line(sealed: object, key: bytes) -> WitnessedLine:
    if isinstance(sealed, bytes) and sealed.startswith(_CHAINED, _MAC):
        return _read(sealed, key, Line)
    return _read(sealed, key, Statement)


def read_dataset(sealed: object, key: bytes) -> WitnessedDataset:
    return _read(sealed, key, DatasetStatement)


def mac_of(sealed: bytes) -> str:
    """The MAC by which the next line names this one."""
    return sealed[:_MAC].decode("ascii", "replace")


def read_runtime(sealed: object, key: bytes) -> RuntimeStatement | Literal[Unreadable.UNREADABLE]:
    return _read(sealed, key, RuntimeStatement)


def _read(sealed: object, key: bytes, kind: type[S]) -> S | Literal[Unreadable.UNREADABLE]:
    # A damaged database returns values of any type.
    if not isinstance(sealed, bytes) or sealed[_MAC : _MAC + 1] != b" ":
        return UNREADABLE
    body = sealed[_MAC + 1 :]
    if not hmac.compare_digest(sealed[:_MAC], _mac(body, kind, key)):
        return UNREADABLE
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError:
        return UNREADABLE  # signed by another version


def _mac(body: bytes, kind: type[Signed], key: bytes) -> bytes:
    # The MAC covers the kind: a statement on a dataset is never read as one on an agent session, nor a line as a row.
    return hmac.digest(key, kind.__name__.encode() + b"\n" + body, "sha256").hex().encode()
