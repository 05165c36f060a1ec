"""What a run of the tests has skipped: told at its end, and not tolerated in CI."""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest


class SkipLedger:
    """Collects the reason of every skip of one run."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._reasons: Counter[str] = Counter()
        self._strict = environ.get("CI", "").lower() not in ("", "0", "false")
        self._report = environ.get("BASCULE_SKIP_REPORT", "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._reasons[_reason(report)] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._reasons[_reason(report)] += 1

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._report:
            Path(self._report).write_text("\n".join(self.lines()) + "\n")
        if self._strict and self._reasons and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line("")
        for line in self.lines():
            terminalreporter.write_line(line)

    def lines(self) -> list[str]:
        if not self._reasons:
            return ["Skipped: nothing."]
        found = [f"Skipped, {count} x: {reason}" for reason, count in sorted(self._reasons.items())]
        return [*found, "In CI nothing may be skipped: this run has failed."] if self._strict else found


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Of a skip, pytest keeps (file, line, reason)."""
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return told.removeprefix("Skipped: ")
