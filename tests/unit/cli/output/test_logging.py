import argparse
import json
import logging
import sys
from typing import Any

import pytest

from bascule.cli.output.logging import LONGEST, JsonLines, Masking, speaking, wanted
from bascule.core.errors import UsageError
from bascule.core.trace_context import CURRENT_SPAN, Span, TraceContext

_log = logging.getLogger("bascule.x")


@pytest.mark.parametrize(
    ("option", "variable", "choice"),
    [(None, "", "text"), (None, "json", "json"), ("text", "json", "text"), ("json", "", "json")],
)
def test_the_command_has_the_last_word(option: str | None, variable: str, choice: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_LOG", variable)
    assert wanted(argparse.Namespace(log=option)) == choice


def test_a_word_that_means_nothing_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_LOG", "jsn")
    with pytest.raises(UsageError, match="BASCULE_LOG"):
        wanted(argparse.Namespace(log=None))


def test_as_json_what_is_logged_and_what_is_printed_are_lines_alike(capsys: pytest.CaptureFixture[str]):
    masking = Masking()
    with speaking("json", masking):
        _log.warning("first hunter22")
        masking.mask = lambda text: text.replace("hunter22", "***")
        _log.warning("second hunter22")
        print("third", "hunter22", file=sys.stderr)
        print(file=sys.stderr)
        print("two\nlines", file=sys.stderr)
    print("after", file=sys.stderr)
    *lines, after = capsys.readouterr().err.splitlines()
    told = [json.loads(line)["message"] for line in lines]
    assert told == ["first hunter22", "second ***", "third ***", "two\nlines"]
    assert after == "after"


def test_as_text_it_is_for_people(capsys: pytest.CaptureFixture[str]):
    masking = Masking()
    masking.mask = lambda text: text.replace("hunter22", "***")
    with speaking("text", masking):
        _log.warning("hunter22")
        print("printed", file=sys.stderr)
    assert capsys.readouterr().err == "WARNING bascule.x: ***\nprinted\n"


def test_nothing_of_it_is_left(capsys: pytest.CaptureFixture[str]):
    before = logging.getLogger().handlers[:]
    with speaking("json", Masking()):
        pass
    assert logging.getLogger().handlers == before
    assert not capsys.readouterr().err


def line(message: str, *args: object, mask: Any = str, **changes: Any) -> dict[str, Any]:
    record = logging.LogRecord("bascule.x", logging.WARNING, "f", 1, message, args, changes.pop("exc_info", None))
    record.created = 0.5
    vars(record).update(changes)
    written = JsonLines(mask).format(record)
    assert "\n" not in written
    return json.loads(written)


def test_a_line_tells_when_how_grave_where_and_what():
    assert line("a %s\nb", 1) == {
        "time": "1970-01-01T00:00:00.500+00:00",
        "level": "warning",
        "logger": "bascule.x",
        "message": "a 1\nb",
    }


def test_it_tells_of_which_call_it_is():
    CURRENT_SPAN.set(Span(None, TraceContext(0xA, 0xB)))
    try:
        told = line("x", server="files")
    finally:
        CURRENT_SPAN.set(None)
    assert (told["trace_id"], told["span_id"], told["server"]) == (f"{0xA:032x}", f"{0xB:016x}", "files")


def test_what_went_wrong_is_on_the_same_line_and_secrets_are_on_none():
    try:
        raise ValueError("hunter22")
    except ValueError:
        told = line("hunter22", exc_info=sys.exc_info(), mask=lambda text: text.replace("hunter22", "***"))
    assert told["message"] == "***"
    assert told["error"].endswith("ValueError: ***")


def test_odd_and_endless_texts_are_written_too():
    assert line("\ud800")["message"] == "\\ud800"
    assert len(line("x" * LONGEST * 2)["message"]) == LONGEST
