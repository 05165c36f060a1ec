"""The whole story, from one end to the other."""

import shlex

import pytest

from bascule.cli.main import parse
from bascule.cli.parser.parser import build_parser
from bascule.demo.story.play import NEXT, perform
from bascule.demo.story.steps import Command, Ending, Step
from support.children import children
from support.waiting import fail_after


class Heard:
    """A teller that remembers."""

    pause = 0.0

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.steps: list[Step] = []
        self.ending: Ending | None = None

    def begin(self) -> None:
        self.heard.append("begin")

    def open(self, step: Step) -> None:
        assert step.lines == []
        self.heard.append(f"open {step.name}")

    def show(self, step: Step) -> None:
        self.heard.append(f"show {step.name}")
        self.steps.append(step)

    def end(self, ending: Ending) -> None:
        self.heard.append("end")
        self.ending = ending


async def test_each_step_is_told_as_it_begins_and_as_it_went():
    before, teller = children(), Heard()
    async with fail_after(60):
        ending = await perform(teller)

    names = ("begin", "send", "read", "go_on", "leak", "receipt", "audit")
    assert teller.heard == ["begin", *(f"{word} {name}" for name in names for word in ("open", "show")), "end"]
    assert ending is teller.ending
    assert (ending.ok, ending.boxes, ending.why) == (True, None, "BASCULE_SANDBOX=none")
    assert children() == before


async def test_a_step_that_did_not_go_as_told_spoils_the_whole():
    class Spoiling(Heard):
        def open(self, step: Step) -> None:
            step.expect(step.name != "send", "somebody else sends")

    async with fail_after(60):
        assert not (await perform(Spoiling())).ok


@pytest.mark.parametrize("command", NEXT, ids=lambda command: command.line)
def test_what_to_type_next_is_understood(command: Command):
    program, *words = shlex.split(command.line)

    assert program == "bascule"
    assert parse(build_parser(), words).command == words[0]


def test_there_are_three_things_to_type_next():
    assert len(NEXT) == 3
