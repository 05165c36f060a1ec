"""Steps of `bascule demo`: the lines and failed expectations of each, and the last step, which verifies the audit log
and detects a changed copy."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bascule.records.audit.damage import AuditCheck
from bascule.records.audit.verify import check_state
from bascule.store.open import store_at

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


LOG = "audit/0001.log"


async def prove(step: Step, state: Path) -> None:
    """Once the runtime has ended: then all that was done is in the log."""
    checked = await _checked(state)
    records = sum(writer.records for writer in checked.writers)
    step.facts.update(records=records, verified=checked.ok)
    if checked.ok:
        step.say("good", f"{records} records, each sealing the one before: the log is whole.")
    step.expect(checked.ok and records > 0, "the log can be verified", checked)
    forged = await _checked(_tampered(state))
    found = next((damage for writer in forged.writers for damage in writer.damage), None)
    step.facts.update(tampered_found=found is not None)
    if found is not None:
        step.say("good", f"One letter changed in a copy of it: found, in record {found.sequence}.")
    step.expect(found is not None, "a log that was changed is found out")


async def _checked(state: Path) -> AuditCheck:
    store = store_at(None, state)
    await store.open()
    try:
        return await check_state(state, store)
    finally:
        await store.close()


def _tampered(state: Path) -> Path:
    """A copy in which one call was made to another server."""
    copy = state.with_name("tampered")
    shutil.copytree(state, copy)
    log = copy / LOG
    log.write_bytes(log.read_bytes().replace(b'"post"', b'"past"', 1))
    return copy
