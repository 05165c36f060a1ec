"""Damage found in an audit log, and the last anchor up to which the log is proven intact."""

from typing import Literal

import msgspec

from bascule.store.audit.anchors import Anchor

What = Literal[
    "altered",
    "inserted",
    "reordered",
    "duplicated",
    "removed",
    "cut off",
    "replaced",
    "file missing",
    "forged anchor",
    "anchor missing",
    "id missing",
]


ProvenBy = Literal["store", "log", "given", ""]


class Damage(msgspec.Struct, frozen=True):
    """One place where the log is not what was written."""

    what: What
    told: str
    """In words."""
    file: str = ""
    line: int = 0
    sequence: int = 0
    """The number of the record that is, or was, there."""


class WriterCheck(msgspec.Struct, frozen=True):
    """What was found out about one chain."""

    writer: str
    files: tuple[str, ...]
    records: int
    head: Anchor | None
    """The last record there is, whether or not it is anchored."""
    proven: Anchor | None
    """The last anchor up to which nothing is missing or altered."""
    proven_by: ProvenBy = ""
    """Where it was found: the store; the log itself, which tells of each anchor; or given by whoever asked."""
    damage: tuple[Damage, ...] = ()
    damages: int = 0
    """How many there are; of many, only the first are told."""
    unfinished: int = 0
    """Bytes of a last record that is being written, or never was whole."""

    @property
    def after(self) -> int:
        """Records after the last anchor: that some were cut off behind them cannot be found out."""
        if self.head is None:
            return 0
        return self.head.sequence - (self.proven.sequence if self.proven is not None else 0)


class AuditCheck(msgspec.Struct, frozen=True):
    """What was found out about a whole log."""

    writers: tuple[WriterCheck, ...]
    damage: tuple[Damage, ...] = ()
    """What belongs to no chain that is there."""
    elsewhere: int = 0
    """Anchors in the store that are of other state folders, and under other keys."""

    @property
    def ok(self) -> bool:
        return not self.damage and not any(writer.damages for writer in self.writers)
