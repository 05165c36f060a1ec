"""Benchmark of the start-up time of `bascule --help`."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench.result import Goal, Report, Row

BASCULE = Path(sys.executable).with_name("bascule")


def seconds() -> float:
    started = time.perf_counter()
    subprocess.run([BASCULE, "--help"], check=True, capture_output=True)
    return time.perf_counter() - started


async def run(report: Report) -> None:
    taken = [seconds() for _ in range(5)]
    report.add("the command", [Row("bascule --help, median of 5", median(taken), "s", Goal("at most", 0.2))])
