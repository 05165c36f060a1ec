"""`bascule demo`, as its exit codes tell."""

import json
import os
import signal
from pathlib import Path

import pytest

from bascule.cli.main import main
from bascule.demo.story import play
from bascule.demo.story.play import Teller
from bascule.demo.story.screen import Document
from bascule.demo.story.steps import Ending


def test_a_story_that_went_as_told_is_a_success(capsys: pytest.CaptureFixture[str]):
    assert main(["demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_people_are_told_in_words(capsys: pytest.CaptureFixture[str]):
    assert main(["demo"]) == 0
    assert "As told, in" in capsys.readouterr().out


def test_a_story_that_did_not_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    async def spoiled(teller: Teller) -> Ending:
        return Ending(False, 1.0, None)

    monkeypatch.setattr(play, "perform", spoiled)

    assert main(["demo", "--json"]) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_story_that_is_broken_off_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    begun = Document.open

    def interrupted(self: Document, step: object) -> None:
        os.kill(os.getpid(), number)
        begun(self, step)  # type: ignore[arg-type]

    monkeypatch.setattr(Document, "open", interrupted)

    assert main(["demo", "--json"]) == 130
    assert capsys.readouterr() == ("", "aborted\n")
    assert list(tmp_path.iterdir()) == []
