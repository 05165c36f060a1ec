"""Playback of `bascule demo`: an agent reads a private file, goes on working, and cannot send the file out. Every step
makes real calls, and checks its own result."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from bascule.core.json_types import as_array, as_object
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.demo.story.stage import ENGINE, FILES, PRIVATE_FILE, PUBLIC_FILE, Receiver, Stage, receiving, stage
from bascule.demo.story.steps import Command, Ending, Step, prove
from bascule.runtime.levels.raising import in_words
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from bascule.sandbox.bubblewrap.engine import Bubblewrap

USER, SESSION = "ada", "demo"

ELSEWHERE = "203.0.113.7:443"
"""An address that stands for all others, and is nobody's. It is only tried where nothing can leave."""

TOOLS = ["files_list", "files_read", "post_send"]

BOXES_SWITCHED = (
    "Before it saw a word of it, the open boxes were killed,",
    "and the same servers started in boxes without a network.",
)
LINKS_CUT = ("Before it saw a word of it, its links to all servers were cut.",)

Scene = Callable[[Step], Awaitable[None]]


class Play:
    """One agent session on its stage."""

    def __init__(self, session: AgentSession, receiver: Receiver) -> None:
        self._session = session
        self._receiver = receiver
        engines = session.boxing.engines
        self.boxes = engines.found[0].kind if engines.found else None
        self.why = "" if engines.found else _first_line(engines.missing.get(ENGINE, ""))

    @property
    def scenes(self) -> tuple[tuple[str, str, Scene], ...]:
        """In their order, each with its name and its title."""
        return (
            ("begin", "An agent gets its tools", self._begin),
            ("send", "It may send: nothing private was seen yet", self._send),
            ("read", "It reads a private file", self._read),
            ("go_on", "It goes on working" if self.boxes else "What has no twin is refused", self._go_on),
            ("leak", "It is talked into sending the file out", self._leak),
            ("receipt", "The receipt", self._receipt),
        )

    async def _begin(self, step: Step) -> None:
        session = self._session
        tools = sorted(tool.name for tool in await session.tools())
        step.facts.update(tools=tools, level=session.sensitivity.name.lower(), lane=session.lane)
        step.say("agent", f"tools: {', '.join(tools)}")
        if self.boxes:
            step.say("note", f"Each server runs in a box of its own ({self.boxes}).")
        else:
            step.say("stop", f"No box can be made here: {self.why}.")
            step.say("note", "The servers are plain processes, so watch what the rules do.")
        step.say("change", "level PUBLIC, lane open")
        step.expect(tools == TOOLS, f"the tools are {', '.join(TOOLS)}", tools)
        self._expect_level(step, DataSensitivity.PUBLIC, Lane.OPEN)

    async def _send(self, step: Step) -> None:
        text = FILES[PUBLIC_FILE]
        step.say("agent", f"post_send to {self._receiver.address}: {_quoted(text)}")
        outcome = await self._call("post_send", to=self._receiver.address, text=text)
        sent = self._receiver.messages == [text.encode()]
        if sent and isinstance(outcome, ToolResult):
            step.facts.update(_network(outcome))
            step.say("good", f"Delivered. The receiver has it, all {len(text.encode())} bytes.")
            whose = "its box shares" if self.boxes else "it is on"
            step.say("note", f"Open lane: {whose} this machine's network ({_sees(step)}).")
        step.expect(isinstance(outcome, ToolResult), "the server sends it", _told(outcome))
        step.expect(sent, "the receiver gets it", self._receiver.messages)
        self._tell_received(step)

    async def _read(self, step: Step) -> None:
        step.say("agent", f"files_read {PRIVATE_FILE}")
        outcome = await self._call("files_read", name=PRIVATE_FILE)
        session, receipts = self._session, self._session.receipts
        if isinstance(outcome, ToolResult):
            head = FILES[PRIVATE_FILE].partition("\n")[0]
            step.say("good", f"It gets the file, whose first line is “{head}”.")
        if receipts:
            step.say("change", f"level PUBLIC → {session.sensitivity.name}, lane open → {session.lane}")
            for line in BOXES_SWITCHED if self.boxes else LINKS_CUT:
                step.say("note", line)
        step.facts.update(level=session.sensitivity.name.lower(), lane=session.lane)
        step.expect(isinstance(outcome, ToolResult), "the file is read", _told(outcome))
        self._expect_level(step, DataSensitivity.SECRET, Lane.SEALED)
        step.expect(len(receipts) == 1, "there is one receipt", len(receipts))

    async def _go_on(self, step: Step) -> None:
        step.say("agent", f"files_read {PUBLIC_FILE}")
        outcome = await self._call("files_read", name=PUBLIC_FILE)
        step.facts.update(lane=outcome.lane, ok=outcome.ok)
        if not self.boxes:
            self._expect_refused(step, outcome)
            return
        if isinstance(outcome, ToolResult):
            step.say("good", f"{_quoted(FILES[PUBLIC_FILE])}")
            step.say("note", f"Same tool, same answer, from the isolated twin: lane {outcome.lane}.")
        step.expect(isinstance(outcome, ToolResult), "the twin answers", _told(outcome))
        step.expect(outcome.lane is Lane.SEALED, "it is answered in the sealed lane", outcome.lane)

    async def _leak(self, step: Step) -> None:
        before = len(self._receiver.messages)
        tries: list[dict[str, object]] = []
        step.facts["tries"] = tries
        for to, told in ((self._receiver.address, "the same receiver"), (ELSEWHERE, "anywhere else")):
            step.say("agent", f"post_send to {to}, {told}: the patients")
            outcome = await self._call("post_send", to=to, text=FILES[PRIVATE_FILE])
            tries.append({"to": to, "ok": outcome.ok, "told": _told(outcome)})
            if not self.boxes:
                self._expect_refused(step, outcome)
            else:
                self._expect_stopped(step, outcome)
            if outcome.ok:
                # What leaks is not tried on others.
                break
        if "routes" in step.facts:
            step.say("note", f"All that the box has: {_sees(step)}.")
        got = self._receiver.messages[before:]
        if not got:
            step.say("good", "The receiver still listens, and got nothing.")
        step.expect(not got, "the receiver gets nothing", f"{len(got)} messages")
        self._tell_received(step)

    async def _receipt(self, step: Step) -> None:
        for receipt in self._session.receipts:
            step.say("change", f"{receipt.before.name} → {receipt.after.name}, by the {in_words(receipt.cause)}")
            step.say("note", f"closed: {', '.join(receipt.closed)}")
            step.say("note", f"from then on: {', '.join(f'{name} {by}' for name, by in receipt.twins.items())}")
            step.facts.update(number=receipt.number, closed=[*receipt.closed], twins={**receipt.twins})
            by = "probed" if self.boxes else "refused"
            step.expect({*receipt.twins.values()} == {by}, f"every server is {by} from then on", receipt.twins)
            step.expect(len(receipt.closed) == len(receipt.twins), "all open links were closed", receipt.closed)
        if self.boxes:
            step.say("note", "probed: looked at from inside, and found to have no way out.")
        step.expect(len(self._session.receipts) == 1, "there is one receipt", self._session.receipts)

    async def _call(self, tool: str, **arguments: str) -> Outcome:
        return await self._session.call(tool, arguments)

    def _expect_level(self, step: Step, level: DataSensitivity, lane: Lane) -> None:
        session = self._session
        so = session.sensitivity is level and session.lane is lane
        step.expect(so, f"level {level.name}, lane {lane}", f"{session.sensitivity.name}, {session.lane}")

    def _expect_refused(self, step: Step, outcome: Outcome) -> None:
        """Where there is no box, nothing is asked of a server that could send on what it is told."""
        if isinstance(outcome, ToolFailure):
            step.say("stop", f"Refused before anything was sent ({outcome.code}).")
        refused = isinstance(outcome, ToolFailure) and outcome.kind is FailureKind.DENIED
        step.expect(refused, "the call is refused", _told(outcome))

    def _expect_stopped(self, step: Step, outcome: Outcome) -> None:
        """The server did try, in its box."""
        if isinstance(outcome, ToolFailure):
            step.facts.update(_network(outcome))
            why = str(as_object(outcome.cause).get("why", outcome.message))
            step.say("stop", f"{why}.")
        tried = isinstance(outcome, ToolFailure) and outcome.kind is FailureKind.TOOL_ERROR
        step.expect(tried and outcome.lane is Lane.SEALED, "the server tries and cannot", _told(outcome))
        step.expect(step.facts.get("routes") == 0, "no route leads out of the box", step.facts.get("routes"))

    def _tell_received(self, step: Step) -> None:
        step.facts["received"] = len(self._receiver.messages)


@asynccontextmanager
async def played(stage: Stage) -> AsyncGenerator[Play]:
    """The servers and the receiver, at work. When the block ends, so have they."""
    async with receiving() as receiver, Runtime(stage.config) as runtime:
        session = runtime.session(USER, SESSION)
        share_network(session)
        yield Play(session, receiver)


def share_network(session: AgentSession) -> None:
    """Have open boxes reach this machine's loopback, where the receiver is."""
    for engine in session.boxing.engines.found:
        if isinstance(engine, Bubblewrap):
            engine.share_host_network("the demo's receiver is on the loopback")


def _network(outcome: Outcome) -> dict[str, object]:
    """What the server saw of a network while it sent."""
    found = as_object(outcome.structured if isinstance(outcome, ToolResult) else outcome.cause)
    return {name: found[name] for name in ("interfaces", "routes") if name in found}


def _sees(step: Step) -> str:
    interfaces, routes = as_array(step.facts.get("interfaces")), step.facts.get("routes", 0)
    only = f" ({interfaces[0]})" if len(interfaces) == 1 else ""
    return f"{_many(len(interfaces), 'interface')}{only}, {_many(routes, 'route')}"


def _many(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"


def _told(outcome: Outcome) -> str:
    return f"{outcome.code} {outcome.message}" if isinstance(outcome, ToolFailure) else "it was done"


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")[:200].rstrip(".")


def _quoted(text: str) -> str:
    return f"“{text.strip()}”"


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
