"""Outcomes of calls as commands print them: text for people, JSON in a stable shape for programs."""

import sys

from bascule.cli.json_output.answers import FailureShape, TakenShape
from bascule.cli.output.errors import explain_failure, json_line
from bascule.core.outcome import PromptResult, ResourceResult, ToolFailure, ToolResult
from bascule.core.text.invisible_chars import escaped

Shown = ToolResult | ResourceResult | PromptResult


def show(outcome: Shown | ToolFailure, shape: object, *, as_json: bool) -> None:
    """The result on stdout, anything else on stderr."""
    if as_json:
        print(json_line(shape))
    elif isinstance(outcome, ToolFailure):
        print(explain_failure(outcome), file=sys.stderr)
    else:
        # A terminal obeys what it is sent; a program gets the text as it is.
        print(escaped(outcome.text) if sys.stdout.isatty() else outcome.text)


def taken(outcome: Shown) -> TakenShape:
    """On which lane it came, and in what time."""
    return {
        "lane": outcome.lane,
        "ms": round(sum(outcome.steps.values()) * 1000, 3),
        "steps": {step: round(seconds * 1000, 3) for step, seconds in outcome.steps.items()},
    }


def failure_shape(failure: ToolFailure) -> FailureShape:
    return {
        "ok": False,
        "kind": failure.kind,
        "code": failure.code,
        "message": failure.message,
        "tool_code": failure.tool_code,
        "retriable": failure.retriable,
        "fix": failure.fix,
    }
