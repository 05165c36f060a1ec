"""No server, however it misbehaves, gets more from us than a failed call of its own."""

import asyncio
import gc
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

from bascule import Accept
from bascule.cli.output.errors import explain, explain_failure
from bascule.config import RuntimeConfig, ServerConfig
from bascule.config.model.runtime_config import MESSAGE_MAX
from bascule.core.outcome import FailureKind, Outcome, ToolFailure
from bascule.records.log_messages import LOGGER, LONGEST, MOST
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from bascule.upstream.key import LinkKey
from hostile.cage import Den, Trap, Watch, a_den, beast, neighbour, trap, undisturbed
from hostile.zoo import BRIEF, ZOO, Carrier, Ending, Inhabitant
from support.memory import measured_growth
from support.servers import argv
from support.waiting import fail_after

MOST_RECORDS = 10
"""Lines that a beast may bring us to log: a log that fills up is a way to do harm too."""

CASES = [
    pytest.param(inhabitant, carrier, id=f"{inhabitant.name}-{carrier}")
    for inhabitant in ZOO
    for carrier in inhabitant.on
]


@pytest.fixture(autouse=True, scope="module")
def libraries_are_there() -> None:
    """Whatever comes first imports them, and their memory is not the beast's."""
    for name in ("aiohttp", "jsonschema_rs", "mcp"):
        import_module(name)
    # Nor is the time that looking through all of them for garbage takes.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def den() -> Iterator[Den]:
    with a_den() as made:
        yield made


@dataclass(frozen=True)
class Scene:
    """A runtime with a beast and its neighbour."""

    session: AgentSession
    watch: Watch
    trap: Trap

    @property
    def counters(self) -> Any:
        key = LinkKey("beast", self.session.lane, self.session.principal)
        link = self.session._roster.links.find(key)
        assert link is not None
        return link.counters


async def a_scene(stack: AsyncExitStack, den: Den, inhabitant: Inhabitant, carrier: Carrier) -> Scene:
    watch = Watch()
    trapped = await stack.enter_async_context(trap())
    transport = stack.enter_context(beast(den, carrier, inhabitant.name, trapped.url))
    hostile = ServerConfig("beast", transport, timeouts=inhabitant.limits)
    servers = {"beast": hostile, "neighbour": neighbour()}
    # Somebody answers, so that it is not for want of an answer that questions come to nothing.
    answering = Runtime(RuntimeConfig(servers), sinks=[watch], on_elicit=lambda _: Accept())
    runtime = await stack.enter_async_context(answering)
    session = runtime.session("alice", "s-1")
    await session.settle("neighbour")
    return Scene(session, watch, trapped)


@pytest.mark.parametrize(("inhabitant", "carrier"), CASES)
async def test_a_beast_gets_nothing_but_its_own_failure(
    inhabitant: Inhabitant, carrier: Carrier, den: Den, caplog: pytest.LogCaptureFixture
):
    ending = inhabitant.on[carrier]
    async with fail_after(40, inhabitant.name), AsyncExitStack() as stack:
        scene = await a_scene(stack, den, inhabitant, carrier)
        with measured_growth() as growth:
            async with undisturbed(scene.session):
                outcome = await call(scene, inhabitant, BRIEF if ending.kind is FailureKind.TIMEOUT else None)
                check_outcome(outcome, ending)
                await check_link(scene, ending)
        assert scene.trap.caught == []
        assert growth.peak <= 2 * MESSAGE_MAX, f"{growth.peak / 2**20:.0f} MiB"
    remarks = [record for record in caplog.records if record.name.startswith(LOGGER)]
    assert len(caplog.records) - len(remarks) <= MOST_RECORDS, caplog.text[:2000]
    # It may say what it wants, but not as much as it wants.
    assert len(remarks) <= MOST + 1
    assert all(len(record.getMessage()) <= 2 * LONGEST for record in remarks)


async def call(scene: Scene, inhabitant: Inhabitant, timeout: float | None) -> Outcome:
    told: list[float] = []
    outcome = await scene.session.call(
        "beast_act", inhabitant.arguments, timeout=timeout, on_progress=lambda progress, *_: told.append(progress)
    )
    # However many there were, what is told is in order.
    assert told == sorted(told)
    return outcome


def check_outcome(outcome: Outcome, ending: Ending) -> None:
    if ending.kind is None:
        assert outcome.ok, outcome
        return
    assert isinstance(outcome, ToolFailure), outcome
    assert outcome.kind is ending.kind, outcome
    told = explain_failure(outcome)
    assert ending.says in told
    check_legible(told)


async def check_link(scene: Scene, ending: Ending) -> None:
    await scene.watch.until("beast", ending.state)
    report = await scene.session.settle("beast")
    assert report.state is ending.state, report
    if report.error is not None:
        check_legible(explain(report.error))
    if ending.counted:
        async with fail_after(10, f"{ending.counted} being counted"):
            while not getattr(scene.counters, ending.counted):
                # What the beast says beside its reply may arrive later than that.
                assert (await scene.session.call("neighbour_echo", {"message": "still here"})).ok


def check_legible(told: str) -> None:
    """What a person is shown can neither move their cursor nor hide from them."""
    hidden = {character for character in told if character != "\n" and not character.isprintable()}
    assert not hidden, f"{hidden} in {told!r}"
    assert len(told) < 20_000


def test_every_way_to_misbehave_has_its_place_in_the_zoo():
    known = subprocess.run(argv("beast", "ways"), capture_output=True, text=True, check=True).stdout.split()
    assert sorted(inhabitant.name for inhabitant in ZOO) == sorted(known)


async def test_a_trap_would_have_noticed():
    async with trap() as sprung:
        port = int(sprung.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        assert sprung.caught == [b"", b"GET / HTTP/1.1\r\n\r\n"]
