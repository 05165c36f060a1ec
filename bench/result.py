"""Results of a benchmark: measured values, their goals, and the report with a verdict on each."""

import json
import platform
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on a value."""

    sense: Literal["at most", "at least"]
    bound: float

    def met(self, value: float) -> bool:
        return value <= self.bound if self.sense == "at most" else value >= self.bound


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. A row without a goal is there to compare with."""

    name: str
    value: float
    unit: str
    goal: Goal | None = None

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return f"{'ok' if self.goal.met(self.value) else 'MISSED'}  ({self.goal.sense} {self.goal.bound:g})"


@dataclass(slots=True)
class Report:
    """All rows of a run, by the suite they belong to."""

    suites: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])

    def add(self, suite: str, rows: list[Row]) -> None:
        self.suites.setdefault(suite, []).extend(rows)
        print(f"\n{suite}")
        for row in rows:
            print(f"  {row.name:<58} {row.value:>12,.3f} {row.unit:<8} {row.verdict}", flush=True)

    @property
    def missed(self) -> list[Row]:
        return [row for rows in self.suites.values() for row in rows if row.goal and not row.goal.met(row.value)]

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        machine = {"python": sys.version.split()[0], "machine": platform.machine(), "system": platform.platform()}
        suites = {name: [asdict(row) for row in rows] for name, rows in self.suites.items()}
        path.write_text(json.dumps({"machine": machine, "suites": suites}, indent=2) + "\n")
