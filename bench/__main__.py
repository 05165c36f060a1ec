"""Command line of the benchmarks: `python -m bench [SUITE …]` runs the suites and prints a table of ratios;
`build/bench.json` holds the same. Each suite runs in a process of its own, so that none pays for objects that another
left on the heap."""

import asyncio
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from bench.result import Report

SUITES = (
    "stdio_calls",
    "container_calls",
    "http_calls",
    "gateway_calls",
    "gateway_latency",
    "gateway_many",
    "gateway_crowd",
    "bridge_plain",
    "dashboard",
    "deciding",
    "auditing",
    "telemetry",
    "raises",
    "starting",
    "resync",
    "parsing",
    "typed",
    "workspace",
    "idle_links",
    "bridge_langchain",
    "bridge_openai_agents",
    "bridge_pydantic_ai",
    "bridge_claude_sdk",
    "command",
    "bridge_weakincentives",
)
RESULTS = Path("build/bench.json")


def run_here(name: str) -> int:
    # What is measured is the way of a call, and not where its server runs; the suite of boxes says so.
    os.environ["BASCULE_SANDBOX"] = "none"
    report = Report()
    asyncio.run(import_module(f"bench.{name}").run(report))
    report.write(_part(name))
    for row in report.missed:
        print(f"missed: {row.name} is {row.value:.3f} {row.unit}, {row.verdict}")
    return 1 if report.missed else 0


def run_each(names: tuple[str, ...]) -> int:
    codes = [subprocess.run([sys.executable, "-m", "bench", name], check=False).returncode for name in names]
    parts = [json.loads(_part(name).read_text()) for name in names]
    suites = {suite: rows for part in parts for suite, rows in part["suites"].items()}
    RESULTS.write_text(json.dumps({"machine": parts[0]["machine"], "suites": suites}, indent=2) + "\n")
    print(f"\nall of it in {RESULTS}")
    return max(codes)


def _part(name: str) -> Path:
    return RESULTS.parent / "bench" / f"{name}.json"


if __name__ == "__main__":
    asked = tuple(sys.argv[1:])
    sys.exit(run_here(asked[0]) if len(asked) == 1 else run_each(asked or SUITES))
