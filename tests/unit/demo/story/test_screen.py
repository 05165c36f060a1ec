"""How the story is told."""

import io
import json
import sys

import pytest

from bascule.demo.story.screen import Document, Screen
from bascule.demo.story.steps import Command, Ending, Step

NEXT = (Command("bascule list", "look"), Command("bascule up", "run"))


def a_step() -> Step:
    step = Step("read", "It reads [bold]a[/bold] file")
    step.say("agent", "files_read [red]x[/red]")
    step.say("good", "It did.")
    step.say("stop", "It could not.")
    step.say("change", "level up")
    step.say("note", "That is all.")
    return step


def test_without_a_terminal_it_is_plain_text(capsys: pytest.CaptureFixture[str]):
    screen = Screen()
    screen.begin()
    step = a_step()
    screen.open(step)
    screen.show(step)
    screen.end(Ending(True, 1.25, "bubblewrap", next=NEXT))
    told = capsys.readouterr().out

    assert screen.pause == 0
    assert "\x1b" not in told
    assert (
        """
1  It reads [bold]a[/bold] file
   agent  files_read [red]x[/red]
   ✓      It did.
   ✗      It could not.
   ▲      level up
          That is all.

As told, in 1.2 s. Boxes, processes and files are gone again.

Next:
  bascule list   look
  bascule up     run
"""
        in told
    )


def test_what_did_not_go_as_told_is_marked_so(capsys: pytest.CaptureFixture[str]):
    screen, step = Screen(), a_step()
    step.expect(False, "it reads", "nothing")
    screen.show(step)
    screen.end(Ending(False, 1.0, None, "not here", NEXT))
    told = capsys.readouterr().out

    assert "   NOT AS TOLD: it reads; instead: nothing\n" in told
    assert "It did not go as told: see above." in told
    assert "As told" not in told


def test_where_there_were_no_boxes_it_says_what_they_would_change(capsys: pytest.CaptureFixture[str]):
    Screen().end(Ending(True, 1.0, None, "not here", NEXT))

    assert "Where boxes can be made (docs/sandbox.md), the agent goes on working instead." in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Terminal:
    """Sixty columns wide."""
    made = Terminal()
    monkeypatch.setattr(sys, "stdout", made)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return made


def test_a_terminal_gets_colour_and_time_to_read(monkeypatch: pytest.MonkeyPatch):
    terminal = at_a_terminal(monkeypatch)
    screen = Screen()
    screen.show(a_step())

    assert screen.pause > 0
    assert "\x1b[32m" in terminal.getvalue()


def test_who_wants_no_colour_gets_none(monkeypatch: pytest.MonkeyPatch):
    terminal = at_a_terminal(monkeypatch, NO_COLOR="1")
    Screen().show(a_step())

    assert "It did." in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()


def test_the_rest_of_a_long_line_stands_under_its_beginning(monkeypatch: pytest.MonkeyPatch):
    terminal = at_a_terminal(monkeypatch, NO_COLOR="1")
    step = Step("read", "")
    step.say("good", "word " * 20)
    Screen().show(step)
    first, *rest = terminal.getvalue().splitlines()

    assert first.startswith("   ✓      word word")
    assert [line for line in rest if not line.startswith("          word")] == []
    assert max(map(len, (first, *rest))) <= 60


def test_a_terminal_that_has_no_such_signs_gets_others(monkeypatch: pytest.MonkeyPatch):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    Screen().show(a_step())
    sys.stdout.flush()

    assert b"   ?      It did.\n" in out.getvalue()


def test_programs_get_one_document_when_it_is_over(capsys: pytest.CaptureFixture[str]):
    document, step = Document(), a_step()
    document.begin()
    document.open(step)
    document.show(step)
    assert capsys.readouterr().out == ""
    document.end(Ending(True, 1.0, "bubblewrap", next=NEXT))
    told = json.loads(capsys.readouterr().out)

    assert (told["ok"], told["boxes"], [each["name"] for each in told["steps"]]) == (True, "bubblewrap", ["read"])
