"""SQL source: database, sensitivity, tables and limits; and the result rows of a query within these limits."""

import math
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors.source import check_source

Dialect = Literal["sqlite", "postgres"]

_CATALOGS = ("pg_", "information_schema")


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """What one query may take."""

    seconds: float = 10.0
    rows: int = 1000
    cell: int = 10_000
    """Characters of one value. What is longer is cut, and counted as cut."""
    total: int = 1024 * 1024
    """Characters of all rows together. What comes after that is left off."""
    file: int = 64 * 1024 * 1024
    """Bytes of a database of the workspace: it is read whole, so that nobody can exchange it meanwhile."""


@dataclass(frozen=True, slots=True)
class SqlSource:
    """One of three: `path` is a SQLite file of this machine, `file` one of the workspace, `dsn` a PostgreSQL.

    Only what `tables` names can be read; if it is not given, that is every table of the file, or of `schema`.
    """

    name: str
    sensitivity: DataSensitivity
    path: str | Path | None = None
    file: str | None = None
    dsn: str | None = field(default=None, repr=False)
    tables: AbstractSet[str] | None = None
    """As they are called in the database: `orders`, or for PostgreSQL also `sales.orders`."""
    schema: str = "public"
    """For PostgreSQL, where names without a schema are looked for."""
    limits: SqlLimits = field(default_factory=SqlLimits)

    def __post_init__(self) -> None:
        check_source(self)
        if sum(place is not None for place in (self.path, self.file, self.dsn)) != 1:
            raise TypeError(f"the source {self.name} needs one of path, file and dsn")
        if self.path is not None and not Path(self.path).is_absolute():
            raise TypeError(f"the path of {self.name} must be absolute: {str(self.path)!r}")
        if isinstance(self.tables, str):
            raise TypeError(f"the tables of {self.name} are a set of names, not one text")
        if self.tables is not None:
            # A list or a tuple is what people write; frozen, so that nobody adds to it later.
            object.__setattr__(self, "tables", frozenset(self.tables))
        for name in (f"{self.schema}.", *(self.tables or ())):
            if name.lower().startswith(_CATALOGS) and "." in name:
                raise TypeError(f"{name.rstrip('.')} of {self.name} is the database's own, and not read by queries")

    @property
    def dialect(self) -> Dialect:
        return "sqlite" if self.dsn is None else "postgres"


@dataclass(frozen=True, slots=True)
class Rows:
    """Values are what JSON has: bytes are given as hexadecimal text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool
    """Whether there were more rows than are shown."""
    cut: int
    """How many values were too long, and end with an ellipsis."""


def bounded_rows(columns: Sequence[str], found: Iterable[Sequence[Any]], limits: SqlLimits) -> Rows:
    """Reads no more rows than are shown, but for one."""
    kept: list[tuple[Any, ...]] = []
    cut = 0
    room = limits.total
    for row in found:
        shown = [_shown(value, limits.cell) for value in row]
        room -= sum(len(value) if isinstance(value, str) else 8 for value, _ in shown)
        if len(kept) == limits.rows or (room < 0 and kept):
            return Rows(tuple(columns), tuple(kept), more=True, cut=cut)
        kept.append(tuple(value for value, _ in shown))
        cut += sum(was_cut for _, was_cut in shown)
    return Rows(tuple(columns), tuple(kept), more=False, cut=cut)


def _shown(value: Any, longest: int) -> tuple[Any, bool]:
    if isinstance(value, bytes):
        value = "0x" + value[: longest // 2 + 1].hex()
    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)
    if isinstance(value, str) and len(value) > longest:
        return value[:longest] + "…", True
    return value, False
