"""Progress line on the terminal."""

import io
import sys
from typing import TextIO, cast

import pytest

from bascule.cli.output.progress import Beside, Progress, asking, doing, done, follow, settled, shown_for, tool_progress
from bascule.core.events import LinkChanged
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_thing_is_shown_with_the_time_it_takes():
    clock = Clock()
    progress = Progress(Terminal(), "audit verify", clock)
    clock.now = 2.0
    assert progress.line(80) == "audit verify 2 s"
    progress.doing("files", "starting")
    clock.now = 3.0
    progress.doing("web", "starting")
    progress.doing("files", "again")
    clock.now = 5.0
    assert progress.line(80) == "files: again 3 s · web: starting 2 s"
    assert progress.line(12) == "files: aga…"
    progress.done("files")
    assert progress.line(80) == "web: starting 2 s"


def test_a_servers_words_can_neither_move_the_cursor_nor_begin_a_line():
    progress = Progress(Terminal(), "call", Clock())
    progress.doing("x", "\x1b[2J\nfix: none")
    assert "\x1b" not in progress.line(80)
    assert "\n" not in progress.line(80)


def test_the_line_is_gone_before_anything_else_is_written_and_at_the_end():
    terminal = Terminal()
    progress = Progress(terminal, "list", Clock())
    progress.draw()
    Beside(cast("TextIO", terminal), progress).write("files  ready\n")
    progress.draw()
    progress.stop()
    progress.draw()
    line = "\r\x1b[2Klist 0 s"
    assert terminal.getvalue() == f"{line}\r\x1b[2Kfiles  ready\n{line}\r\x1b[2K"


def test_nothing_is_drawn_into_a_line_that_is_not_whole_nor_while_a_person_is_asked():
    terminal = Terminal()
    progress = Progress(terminal, "list", Clock())
    beside = Beside(cast("TextIO", terminal), progress)
    beside.write("half")
    progress.draw()
    beside.write("\n")
    with progress.silence():
        progress.draw()
    assert terminal.getvalue() == "half\n"
    assert beside.isatty()


def test_links_and_tools_tell_how_far_they_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    seen: list[str] = []

    def noted() -> None:
        seen.append(cast("Beside", sys.stderr)._progress.line(80))  # pyright: ignore[reportPrivateUsage]

    def changed(state: str, reason: str = "") -> LinkChanged:
        return LinkChanged("files", Lane.OPEN, Principal("a", "s"), state, reason, 0.0)

    with shown_for("call"), asking():
        follow(changed("connecting"))
        noted()
        follow(changed("connecting", "attempt 2"))
        noted()
        follow(changed("ready"))
        tool_progress("x")(1, 4, "half way")
        noted()
        tool_progress("x")(3, None, None)
        noted()
        done("x")
        noted()
        settled()
    assert seen == [
        "files: starting 0 s",
        "files: starting (attempt 2) 0 s",
        "x: half way (1 of 4) 0 s",
        "x: 3 0 s",
        "call 0 s",
    ]
    assert isinstance(sys.stderr, Terminal)


def test_without_a_terminal_nothing_is_kept():
    doing("x", "y")
    done("x")
    settled()
    with asking():
        pass
