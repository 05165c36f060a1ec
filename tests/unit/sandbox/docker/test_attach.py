"""What is heard of a process in a container."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bascule.core.errors import ConnectFailed
from bascule.sandbox.docker import attach
from bascule.sandbox.docker.api import Engine, EngineRefused, started
from bascule.sandbox.docker.attach import listening_to
from bascule.sandbox.spec.engine import Run
from support.fake_engine import BOX, FakeEngine, answer, fake_engine
from support.waiting import fail_after


@pytest.fixture
async def fake() -> AsyncGenerator[FakeEngine]:
    async with fail_after(40), fake_engine() as engine:
        yield engine


async def test_both_outputs_are_heard_to_the_end(fake: FakeEngine):
    engine = Engine(fake.socket)
    run_id = await engine.prepare(Run(BOX, ("sh", "-c", "echo one; sleep 0.05; echo two >&2")))
    async with listening_to(engine, *started(run_id)) as ear:
        await ear.to_the_end()
    assert ear.text == "one\ntwo"


async def test_a_sign_is_heard_although_more_would_come(fake: FakeEngine):
    engine = Engine(fake.socket)
    run_id = await engine.prepare(Run(BOX, ("sh", "-c", "echo it is ready; exec sleep 600")))
    async with listening_to(engine, *started(run_id)) as ear:
        assert await ear.until(b"ready")


async def test_without_the_sign_what_was_said_instead_is_kept(fake: FakeEngine):
    engine = Engine(fake.socket)
    run_id = await engine.prepare(Run(BOX, ("sh", "-c", "echo never >&2")))
    async with listening_to(engine, *started(run_id)) as ear:
        assert not await ear.until(b"ready")
    assert ear.text == "never"


async def test_of_much_output_the_end_is_kept(fake: FakeEngine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attach, "KEPT", 100)
    engine = Engine(fake.socket)
    run_id = await engine.prepare(Run(BOX, ("sh", "-c", "seq 1 100000")))
    async with listening_to(engine, *started(run_id)) as ear:
        await ear.to_the_end()
    assert len(ear.heard) == 100
    assert ear.text.endswith("100000")


@pytest.mark.parametrize(
    ("said", "why"),
    [(answer(404, {"message": "No such exec"}), "No such exec"), (b"", "it hung up"), (b"HTTP/1.1 500\r\n\r\n", "500")],
)
async def test_an_engine_that_does_not_put_us_through_is_told(fake: FakeEngine, said: bytes, why: str):
    fake.instead["/start"] = said
    with pytest.raises(EngineRefused, match=why):
        async with listening_to(Engine(fake.socket), *started("0")):
            pass


async def test_an_engine_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(ConnectFailed, match="cannot be reached"):
        async with listening_to(Engine(str(tmp_path / "none")), *started("0")):
            pass


async def test_an_engine_that_dies_while_it_puts_us_through_is_told(tmp_path: Path):
    async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # What was sent is left unread, so that whoever sent it is told of a reset.
        writer.transport.abort()

    path = str(tmp_path / "engine.sock")
    async with await asyncio.start_unix_server(reset, path):
        with pytest.raises(EngineRefused, match="it hung up"):
            async with listening_to(Engine(path), "/containers/x/attach"):
                pytest.fail("nobody answered")
