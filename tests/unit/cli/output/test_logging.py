import argparse
import json
import logging
import sys

import pytest

from bascule.cli.output.logging import Masking, speaking, wanted
from bascule.core.errors import UsageError

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
