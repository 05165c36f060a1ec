"""`python -m bench.versions CHECKOUT [SUITE …]`: this checkout against another one, by turns in one run.

Each suite runs in each checkout with that checkout's own environment, `ROUNDS` times. The table has the median of each
row and the ratio of this checkout to the other. Both need `make setup` first.
"""

import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

HERE = Path(__file__).parents[1]

ROUNDS = 5
"""Runs of each suite in each checkout. They take turns, since the machine's speed changes by a third within an hour."""

STARTS = 20
"""Process starts of each kind in one round."""

SUITES = ("stdio_calls", "http_calls", "gateway_calls", "starting")

PROGRAMS = {
    "bare process start": ("python", "-c", "pass"),
    "import bascule": ("python", "-c", "import bascule; bascule.Runtime"),
    "bascule --help": ("bascule", "--help"),
    "bascule --version": ("bascule", "--version"),
    "bascule list --help": ("bascule", "list", "--help"),
}

Figures = dict[str, list[float]]


def starts(checkout: Path) -> Iterator[tuple[str, float]]:
    for name, (program, *arguments) in PROGRAMS.items():
        for _ in range(STARTS):
            began = time.perf_counter()
            subprocess.run(
                [checkout / ".venv/bin" / program, *arguments], cwd=checkout, check=True, capture_output=True
            )
            yield f"{name} (s)", time.perf_counter() - began


def rows(checkout: Path, suite: str) -> Iterator[tuple[str, float]]:
    """Every row of one run of a suite. A missed goal is not an error here."""
    command = [checkout / ".venv/bin/python", "-m", "bench", suite]
    subprocess.run(command, cwd=checkout, check=False, capture_output=True, timeout=600)
    found = json.loads((checkout / "build/bench" / f"{suite}.json").read_text())["suites"]
    for title, lines in found.items():
        for row in lines:
            yield f"{title}: {row['name']} ({row['unit']})", row["value"]


def measure(checkouts: tuple[Path, Path], suites: tuple[str, ...]) -> tuple[Figures, Figures]:
    figures: tuple[Figures, Figures] = defaultdict(list), defaultdict(list)
    for number in range(ROUNDS):
        # The first of a pair may find a colder machine, so the order alternates.
        for which in (0, 1) if number % 2 else (1, 0):
            for name, value in starts(checkouts[which]):
                figures[which][name].append(value)
            for suite in suites:
                for name, value in rows(checkouts[which], suite):
                    figures[which][name].append(value)
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
    return figures


def main(other: Path, suites: tuple[str, ...]) -> None:
    here, there = measure((HERE, other), suites)
    print(f"{'':<100} {'this':>12} {'other':>12} {'ratio':>7}")
    for name in here:
        if name in there:
            new, old = median(here[name]), median(there[name])
            print(f"{name[:100]:<100} {new:>12.4f} {old:>12.4f} {new / old if old else 0:>7.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), tuple(sys.argv[2:]) or SUITES)
