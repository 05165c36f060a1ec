"""Registration of runtimes in a store: sealed rows with the last receipt that each runtime has applied. Pure: both
engines verify them here."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

from bascule.store.levels.interface import Laggards
from bascule.store.levels.position import Position
from bascule.store.levels.signed_statement import UNREADABLE, RuntimeStatement, Unreadable, read_runtime, seal

KEPT = 60.0
"""Seconds for which the row of a runtime that has left is kept. A fence remembers a runtime for a shorter time."""

Row: TypeAlias = RuntimeStatement | Literal[Unreadable.UNREADABLE]


class Registry(msgspec.Struct, frozen=True):
    """Rows of all registered runtimes, as they are in the store at one moment."""

    rows: Mapping[str, Row]

    @property
    def running(self) -> frozenset[str]:
        """Runtimes whose row verifies and has no end."""
        return frozenset(name for name, row in self.rows.items() if row is not UNREADABLE and not row.left)

    def left_before(self, at: float) -> list[str]:
        return [name for name, row in self.rows.items() if row is not UNREADABLE and 0 < row.left < at]

    def laggards(self, position: Position, receipts: Mapping[int, str | None]) -> Laggards:
        """`receipts` are the fingerprints of the receipts from this position on, by number; None for a receipt that
        cannot be read."""
        known: dict[int, str | None] = {0: "", **receipts}
        settled = frozenset(name for name, row in self.rows.items() if _is_settled(row, position, known))
        return Laggards(
            lagging=frozenset(self.rows) - settled,
            settled=settled,
            found=known.get(position.number) == position.fingerprint,
        )


def read_registry(rows: Iterable[tuple[object, object]], key: bytes) -> Registry:
    """The rows under their ids. Damage can give an id any type; its row then does not verify."""
    return Registry({str(name): _read(name, sealed, key) for name, sealed in rows})


def row_of(runtime: str, position: Position, key: bytes, left: float = 0.0) -> bytes:
    return seal(RuntimeStatement(runtime, position.number, position.fingerprint, left), key)


def _read(name: object, sealed: object, key: bytes) -> Row:
    row = read_runtime(sealed, key)
    # A valid row of another runtime, put in place of this one.
    return row if row is not UNREADABLE and row.id == name else UNREADABLE


def _is_settled(row: Row, position: Position, known: Mapping[int, str | None]) -> bool:
    if row is UNREADABLE:
        return False
    # A number without that receipt is of another copy of the database, which had other changes under these numbers.
    applied = row.number >= position.number and known.get(row.number) == row.fingerprint
    return applied or row.left > 0
