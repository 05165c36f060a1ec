"""Output of `bascule demo`: lines at a terminal, or one JSON document for programs."""

import json
import os
import sys
from io import TextIOWrapper
from textwrap import wrap

from bascule.demo.story.steps import Ending, Kind, Step

PAUSE = 0.8
"""Seconds between steps where somebody reads along."""

WIDE = 10_000
"""Columns where nobody looks at a terminal: a program takes lines as long as they are."""

NARROWEST = 20
"""Columns that a line has at least, beside what stands before it."""

SIGNS: dict[Kind, tuple[str, str]] = {
    "agent": ("agent", "bold"),
    "good": ("✓", "green"),
    "stop": ("✗", "red"),
    "change": ("▲", "yellow"),
    "note": ("", "dim"),
}
"""What stands before a line, and how it looks."""


class Screen:
    """For people."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 -- only where something is drawn

        out: object = sys.stdout
        if isinstance(out, TextIOWrapper):
            # Where a sign cannot be shown, another stands in its place; the story is the same.
            out.reconfigure(errors="replace")
        terminal = sys.stdout.isatty()
        colours = None if os.environ.get("NO_COLOR") else "auto"
        self._console: Console = Console(highlight=False, width=None if terminal else WIDE, color_system=colours)
        self._count = 0
        self.pause = PAUSE if terminal else 0.0

    def begin(self) -> None:
        self._print("bold", "Bascule: an agent reads a private file, goes on working, and cannot leak it.")
        self._print("dim", "Real servers and a real receiver, on this machine alone. Nothing is mocked.")

    def open(self, step: Step) -> None:
        self._count += 1
        self._console.print()
        self._print("bold cyan", f"{self._count}  {step.title}")

    def show(self, step: Step) -> None:
        for line in step.lines:
            sign, style = SIGNS[line.kind]
            self._print(style, line.text, f"   {sign:<5}  ")
        for missed in step.missed:
            self._print("bold red", f"NOT AS TOLD: {missed}", "   ")

    def end(self, ending: Ending) -> None:
        self._console.print()
        if ending.ok:
            self._print("bold green", f"As told, in {ending.seconds:.1f} s. Boxes, processes and files are gone again.")
        else:
            self._print("bold red", "It did not go as told: see above.")
        if not ending.boxes:
            self._print("yellow", "Where boxes can be made (docs/sandbox.md), the agent goes on working instead.")
        self._console.print()
        self._print("bold", "Next:")
        width = max(len(command.line) for command in ending.next)
        for command in ending.next:
            self._print("", f"{command.line:<{width}}   {command.why}", "  ")

    def _print(self, style: str, words: str, before: str = "") -> None:
        from rich.text import Text  # noqa: PLC0415 -- a server's words are printed as they are, never as markup

        room = max(self._console.width - len(before), NARROWEST)
        # Where a line is too long, its rest stands under its beginning.
        for number, line in enumerate(wrap(words, room, break_on_hyphens=False)):
            shown = Text.assemble((before if number == 0 else " " * len(before), style), (line, style))
            self._console.print(shown, soft_wrap=True)


class Document:
    """For programs: everything at once, when it is over."""

    pause = 0.0

    def __init__(self) -> None:
        self._steps: list[Step] = []

    def begin(self) -> None: ...

    def open(self, step: Step) -> None:
        self._steps.append(step)

    def show(self, step: Step) -> None: ...

    def end(self, ending: Ending) -> None:
        print(json.dumps(ending.shape(self._steps), ensure_ascii=False))
