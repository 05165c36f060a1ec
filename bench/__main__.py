"""`python -m bench [SUITE …]`: run the suites and print a table of ratios; `build/bench.json` holds the same."""

import asyncio
import sys
from importlib import import_module
from pathlib import Path

from bench.result import Report

SUITES = ("stdio_calls", "http_calls", "starting", "resync", "parsing", "idle_links", "command")


def main(names: list[str]) -> int:
    report = Report()
    for name in names or SUITES:
        asyncio.run(import_module(f"bench.{name}").run(report))
    report.write(Path("build/bench.json"))
    for row in report.missed:
        print(f"missed: {row.name} is {row.value:.3f} {row.unit}, {row.verdict}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
