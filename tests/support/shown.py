"""Errors as people are shown them, in words that are the same each time; and the table of what makes each."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from bascule.cli.output.errors import explain, explain_failure
from bascule.core.errors import BasculeError
from bascule.core.outcome import Result, ToolFailure
from support.kit_http import Answered

Scenario = Callable[[Path], Awaitable[str]]
"""Makes the product fail, in a folder of its own, and gives what it printed."""


@dataclass
class Scenarios:
    """What raises each code. One code can have several; its page shows them in the same order."""

    by_code: dict[str, list[Scenario]] = field(default_factory=dict[str, list[Scenario]])

    def __call__(self, code: str) -> Callable[[Scenario], Scenario]:
        def add(scenario: Scenario) -> Scenario:
            self.by_code.setdefault(code, []).append(scenario)
            return scenario

        return add


def failed(outcome: Result | ToolFailure) -> str:
    """A failure as the command prints it."""
    assert isinstance(outcome, ToolFailure), outcome
    return explain_failure(outcome)


def raised(error: BasculeError) -> str:
    return explain(error)


def answered(answer: Answered) -> str:
    """What came over HTTP."""
    body = json.dumps(answer.message, ensure_ascii=False)
    told = [f"{name}: {answer.headers[name]}" for name in ("www-authenticate", "retry-after") if name in answer.headers]
    return "\n".join([f"HTTP {answer.status}", *told, body])


SAME: tuple[tuple[str, str], ...] = (
    (r"(127\.0\.0\.1|localhost):\d{4,5}", r"\1:8000"),
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?", "2026-10-02 10:11:12"),
    (r"operator \w+", "operator ada"),
    (r"(bascule/\w+/\w+\.py):\d+", r"\1:12"),
    (r"\b[0-9a-f]{32,}\b", "0123456789abcdef"),
)
"""What differs from one time to the next, and what stands for it in the pages."""


def same_each_time(text: str, folder: Path) -> str:
    """In the words of somebody whose project lies in `/home/ada/project`."""
    text = text.replace(str(folder), "/home/ada/project")
    text = re.sub(r"\S*/bin/python[\d.]*", "python", text)
    text = re.sub(r"\S*/tests/servers/(\w+\.py)", r"\1", text)
    for volatile, word in SAME:
        text = re.sub(volatile, word, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
