"""From the empty stage to the empty stage: plays the story, and has each step told as it happens."""

import asyncio
import time
from typing import Protocol

from bascule.demo.story.play import played
from bascule.demo.story.stage import stage
from bascule.demo.story.steps import Command, Ending, Step
from bascule.demo.story.steps__proof import prove

NEXT = (
    Command("bascule import --write", "the servers you already have"),
    Command("bascule doctor", "does everything work?"),
    Command("bascule serve --dev", "one MCP endpoint for your agents"),
)
"""For whoever has seen it."""


class Teller(Protocol):
    """Whoever tells the story."""

    pause: float
    """Seconds between two steps, for those who read along."""

    def begin(self) -> None: ...

    def open(self, step: Step) -> None:
        """A step is about to be played."""
        ...

    def show(self, step: Step) -> None:
        """How it went."""
        ...

    def end(self, ending: Ending) -> None: ...


async def perform(teller: Teller) -> Ending:
    """The whole story. When this returns, nothing of it is left."""
    began = time.monotonic()
    steps: list[Step] = []
    teller.begin()
    with stage() as place:
        async with played(place) as play:
            for name, title, scene in play.scenes:
                step = _opened(Step(name, title), teller)
                await scene(step)
                await _shown(step, teller, steps)
            boxes, why = play.boxes, play.why
        step = _opened(Step("audit", "The log of all that was done"), teller)
        await prove(step, place.home)
        await _shown(step, teller, steps)
    whole = all(step.ok for step in steps) and not place.folder.exists()
    ending = Ending(whole, time.monotonic() - began, boxes, why, NEXT)
    teller.end(ending)
    return ending


def _opened(step: Step, teller: Teller) -> Step:
    teller.open(step)
    return step


async def _shown(step: Step, teller: Teller, steps: list[Step]) -> None:
    steps.append(step)
    teller.show(step)
    await asyncio.sleep(teller.pause)
