"""Outcomes as commands show them."""

import io
import sys

import msgspec
import pytest

from bascule.cli.output.outcomes import failure_shape, show, taken
from bascule.core.outcome import FailureKind, ResourceResult, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane

RESULT = ToolResult({"content": [{"type": "text", "text": "hi"}]}, "files", "read", Lane.OPEN, {"send": 0.5})
FAILURE = ToolFailure(FailureKind.DENIED, "BSC-300", "no")


def test_a_result_goes_to_stdout_and_a_failure_to_stderr(capsys: pytest.CaptureFixture[str]):
    show(RESULT, {}, as_json=False)
    show(FAILURE, {}, as_json=False)
    shown = capsys.readouterr()
    assert shown.out == "hi\n"
    assert "BSC-300" in shown.err


class Terminal(io.StringIO):
    """Says that a person looks at it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), "a\\x1b[2J\n"), (io.StringIO(), "a\x1b[2J\n")])
def test_a_terminal_is_not_sent_what_it_would_obey(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, shown: str):
    monkeypatch.setattr(sys, "stdout", stream)
    painted = msgspec.structs.replace(RESULT, raw={"content": [{"type": "text", "text": "a\x1b[2J"}]})
    show(painted, {}, as_json=False)
    assert stream.getvalue() == shown


def test_json_goes_to_stdout_either_way(capsys: pytest.CaptureFixture[str]):
    show(FAILURE, failure_shape(FAILURE), as_json=True)
    assert capsys.readouterr().out.startswith('{"ok":false')


def test_times_are_milliseconds():
    outcome = ResourceResult({"contents": []}, "files", "a://1", Lane.OPEN, {"send": 0.5, "read": 0.25})
    assert taken(outcome) == {"lane": "open", "ms": 750.0, "steps": {"send": 500.0, "read": 250.0}}
