"""The played story from start to end, with steps that pass and steps that fail."""

import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from bascule.cli.main import parse
from bascule.cli.parser.command_table import build_parser
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.demo.story.play import NEXT, TOOLS, Play, perform, played
from bascule.demo.story.stage import PRIVATE_FILE, Stage, built_in, stage, surrounded
from bascule.demo.story.steps import Command, Ending, Step
from support.bwrap import skip_without_bubblewrap
from support.children import children
from support.waiting import fail_after


@asynccontextmanager
async def on_stage(engine: str = "none", **other: ServerConfig) -> AsyncGenerator[tuple[Play, Stage]]:
    """The play, with some of its servers replaced."""
    with surrounded({"BASCULE_SANDBOX": engine}), stage() as bare:
        place = replace(bare, config=RuntimeConfig({**bare.config.servers, **other}))
        async with fail_after(60), played(place) as play:
            yield play, place


async def all_of(play: Play) -> dict[str, Step]:
    steps = {name: Step(name, title) for name, title, _ in play.scenes}
    for name, _, scene in play.scenes:
        await scene(steps[name])
    return steps


def text_of(step: Step) -> str:
    return "\n".join(line.text for line in step.lines)


@pytest.mark.long
async def test_in_boxes_the_agent_goes_on_and_its_server_tries_and_cannot():
    skip_without_bubblewrap()
    async with on_stage("bubblewrap") as (play, _):
        assert (play.boxes, play.why) == ("bubblewrap", "")
        steps = await all_of(play)

    assert [step.missed for step in steps.values() if not step.ok] == []
    assert steps["begin"].facts == {"tools": TOOLS, "level": "public", "lane": "open"}
    assert (steps["send"].facts["received"], steps["leak"].facts["received"]) == (1, 1)
    assert steps["go_on"].facts == {"lane": "sealed", "ok": True}
    assert (steps["leak"].facts["interfaces"], steps["leak"].facts["routes"]) == (["lo"], 0)
    assert text_of(steps["leak"]).count("Network is unreachable.") == 2
    assert steps["receipt"].facts["twins"] == {"files": "probed", "post": "probed"}


async def test_without_boxes_it_says_so_and_what_could_carry_data_out_is_refused():
    async with on_stage() as (play, _):
        assert (play.boxes, play.why) == (None, "BASCULE_SANDBOX=none")
        steps = await all_of(play)

    assert [step.missed for step in steps.values() if not step.ok] == []
    assert "No box can be made here: BASCULE_SANDBOX=none." in text_of(steps["begin"])
    assert text_of(steps["go_on"]).endswith("Refused before anything was sent (BSC-300).")
    assert [tried["ok"] for tried in steps["leak"].facts["tries"]] == [False, False]
    assert (steps["send"].facts["received"], steps["leak"].facts["received"]) == (1, 1)
    assert steps["receipt"].facts["twins"] == {"files": "refused", "post": "refused"}


async def test_a_leak_is_seen_and_nobody_else_is_tried():
    """A twin that was declared, and is none: it sends as well as the open one."""
    with stage() as place:
        leaky = replace(place.config.servers["post"], isolated=built_in("post"))
    async with on_stage(post=leaky) as (play, _):
        steps = await all_of(play)

    assert steps["leak"].missed == [
        "the call is refused; instead: it was done",
        "the receiver gets nothing; instead: 1 messages",
    ]
    assert len(steps["leak"].facts["tries"]) == 1
    assert "got nothing" not in text_of(steps["leak"])
    assert not steps["receipt"].ok


async def test_a_file_that_raises_nothing_is_seen():
    async with on_stage() as (play, place):
        (place.folder / "files" / PRIVATE_FILE).write_text("no word of it")
        steps = await all_of(play)

    assert steps["read"].missed == [
        "level SECRET, lane sealed; instead: PUBLIC, open",
        "there is one receipt; instead: 0",
    ]
    assert not steps["leak"].ok


async def test_a_receiver_that_gets_nothing_is_seen():
    with stage() as place:
        other = replace(place.config.servers["post"], transport=built_in("notes"))
    async with on_stage(post=other) as (play, _):
        step = Step("send", "")
        await play.scenes[1][2](step)
        begun = Step("begin", "")
        await play.scenes[0][2](begun)

    assert [missed.partition(";")[0] for missed in step.missed] == ["the server sends it", "the receiver gets it"]
    assert begun.missed[0].startswith("the tools are files_list, files_read, post_send; instead: ")


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
