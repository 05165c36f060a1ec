"""What is told of a played session: steps, each with its lines, and with what was expected of it and did not come."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["agent", "good", "stop", "change", "note"]
"""Who or what a line is about: the agent's doing, what went well, what was stopped, what changed, and the rest."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line on the screen, with one idea."""

    kind: Kind
    text: str


@dataclass(slots=True)
class Step:
    """One step of the story, as it really went."""

    name: str
    title: str
    lines: list[Line] = field(default_factory=list[Line])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    """The same for programs."""
    missed: list[str] = field(default_factory=list[str])
    """What should have been and was not."""

    @property
    def ok(self) -> bool:
        return not self.missed

    def say(self, kind: Kind, text: str) -> None:
        self.lines.append(Line(kind, text))

    def expect(self, so: bool, wanted: str, instead: object = "") -> None:  # noqa: FBT001 -- as one says `assert`
        """Whether it went as told. `instead` is shown where it did not."""
        if not so:
            self.missed.append(f"{wanted}; instead: {instead}" if instead != "" else wanted)

    def shape(self) -> dict[str, Any]:
        """In its documented JSON shape."""
        lines = [{"kind": line.kind, "text": line.text} for line in self.lines]
        told = {"name": self.name, "title": self.title, "ok": self.ok, "lines": lines}
        return {**told, "facts": self.facts, "missed": self.missed}


@dataclass(frozen=True, slots=True)
class Command:
    """Something to type next, and what for."""

    line: str
    why: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How the whole story went."""

    ok: bool
    seconds: float
    boxes: str | None
    """What the boxes were made by. None: none could be made."""
    why: str = ""
    """Why not."""
    next: tuple[Command, ...] = ()

    def shape(self, steps: list[Step]) -> Mapping[str, Any]:
        """The whole story in its documented JSON shape."""
        then = [{"command": command.line, "why": command.why} for command in self.next]
        about = {"ok": self.ok, "seconds": round(self.seconds, 3), "boxes": self.boxes, "why": self.why}
        return {**about, "steps": [step.shape() for step in steps], "next": then}
