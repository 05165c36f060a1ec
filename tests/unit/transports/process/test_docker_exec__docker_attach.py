"""The connection that carries a process's streams: how it is begun, and how it ends."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bascule.core.errors import ConnectFailed, PeerError, ProtocolViolation
from bascule.sandbox.docker.api import Engine, EngineRefused
from bascule.sandbox.spec.engine import Run
from bascule.transports.process.docker_exec import LONGEST_HEAD, Attachment, attach
from support.fake_engine import BOX, FakeEngine, answer, fake_engine, frame
from support.waiting import fail_after

TAKEN_OVER = b"HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\n"


class Notes:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.out = b""
        self.err = b""
        self.broken: list[PeerError] = []
        self.over = asyncio.Event()
        self.pauses: list[bool] = []

    def heard(self, data: bytes) -> None:
        self.out += data

    def said(self, data: bytes) -> None:
        self.err += data

    def broke(self, reason: PeerError) -> None:
        self.broken.append(reason)

    def hung_up(self) -> None:
        self.over.set()

    def pause_output(self) -> None:
        self.pauses.append(True)

    def resume_output(self) -> None:
        self.pauses.append(False)


@pytest.fixture
async def fake() -> AsyncGenerator[FakeEngine]:
    async with fail_after(20), fake_engine() as engine:
        yield engine


@pytest.fixture
async def notes() -> Notes:
    return Notes()


async def begun(fake: FakeEngine, notes: Notes, *argv: str) -> Attachment:
    engine = Engine(fake.socket)
    run_id = await engine.prepare(Run(BOX, argv or ("true",)))
    attachment = await attach(engine, notes)
    attachment.begin(run_id)
    return attachment


async def test_what_is_written_is_read_and_the_end_of_input_is_an_end(fake: FakeEngine, notes: Notes):
    attachment = await begun(fake, notes, "sh", "-c", "cat; echo done >&2")
    await attachment.answered
    attachment.write(b"hello")
    attachment.end_input()
    await notes.over.wait()

    assert (notes.out, notes.err, notes.broken) == (b"hello", b"done\n", [])
    attachment.write(b"into the void")
    attachment.end_input()
    assert attachment.backlog == 0


@pytest.mark.parametrize("status", [b"101 UPGRADED", b"200 OK"])
async def test_streams_may_follow_the_answer_at_once(fake: FakeEngine, notes: Notes, status: bytes):
    fake.instead["/start"] = b"HTTP/1.1 " + status + b"\r\n\r\n" + frame(1, b"out") + frame(2, b"err")
    attachment = await begun(fake, notes)
    await attachment.answered
    await notes.over.wait()

    assert (notes.out, notes.err) == (b"out", b"err")


async def test_a_refusal_is_told_with_its_status(fake: FakeEngine, notes: Notes):
    fake.instead["/start"] = answer(409, {"message": "Container box is paused"})
    attachment = await begun(fake, notes)
    with pytest.raises(EngineRefused, match="paused") as caught:
        await attachment.answered
    assert caught.value.status == 409
    await notes.over.wait()


async def test_an_engine_that_hangs_up_before_it_answers_is_told(fake: FakeEngine, notes: Notes):
    fake.instead["/start"] = b""
    attachment = await begun(fake, notes)
    with pytest.raises(EngineRefused, match="hung up"):
        await attachment.answered


async def test_headers_without_end_are_not_held(fake: FakeEngine, notes: Notes):
    fake.instead["/start"] = b"HTTP/1.1 101 UPGRADED\r\n" + b"x" * (LONGEST_HEAD + 1)
    attachment = await begun(fake, notes)
    with pytest.raises(ProtocolViolation):
        await attachment.answered


async def test_streams_that_cannot_be_told_apart_end_the_connection(fake: FakeEngine, notes: Notes):
    fake.instead["/start"] = TAKEN_OVER + frame(1, b"fine") + b"plain text of a terminal"
    await begun(fake, notes)
    await notes.over.wait()

    assert notes.out == b"fine"
    assert isinstance(notes.broken[0], ProtocolViolation)


async def test_whoever_writes_more_than_is_read_is_told_to_pause_and_a_cut_drops_it(fake: FakeEngine, notes: Notes):
    attachment = await begun(fake, notes, "sleep", "60")
    await attachment.answered
    attachment.write(b"x" * 4_000_000)
    assert notes.pauses[-1]
    assert attachment.backlog > 0
    attachment.cut()
    await notes.over.wait()
    assert attachment.backlog == 0


async def test_an_engine_that_is_not_there_is_told(tmp_path: Path, notes: Notes):
    with pytest.raises(ConnectFailed, match="cannot be reached"):
        await attach(Engine(str(tmp_path / "none")), notes)
