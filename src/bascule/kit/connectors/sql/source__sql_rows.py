"""The rows that a query gave, held to how much of them may be shown."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bascule.kit.connectors.sql.source import SqlLimits


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
