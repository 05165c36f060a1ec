import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.config.model.sandbox import Sandbox
from bascule.core.errors import SandboxError
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.prepare.provision import PreparedPackages
from bascule.sandbox.spec.box import Mount
from bascule.sandbox.spec.launch_request import Order
from support.packages import WritesPackages, command, tools


def order(tmp_path: Path, *argv: str, lane: Lane = Lane.SEALED) -> Order:
    asked = command(*argv, path=tools(tmp_path / "bin"), TOKEN="configured")
    return Order("files", lane, Principal("u", "s"), asked, Sandbox(), mounts=(Mount("/a", "/a"),))


async def test_an_order_is_given_the_fetched_program_and_keeps_all_else(tmp_path: Path):
    engine = WritesPackages()
    provision = PreparedPackages(tmp_path / "state")
    before = order(tmp_path, "npx", "-y", "server", "/data")

    after = await provision.before(engine, before)
    again = await provision.before(engine, replace(before, lane=Lane.OPEN))
    await provision.after(after)

    assert after.command.argv[0].endswith("/node_modules/.bin/server")
    assert after.command.argv[1:] == ("/data",)
    assert after.command.env["TOKEN"] == "configured"
    assert after.mounts[0] == Mount("/a", "/a")
    assert "prepared" in [mount.why for mount in after.mounts]
    assert again == replace(after, lane=Lane.OPEN)
    assert len(engine.boxes) == 1


async def test_what_fetches_nothing_and_what_runs_in_another_image_is_left_as_it_is(tmp_path: Path):
    engine = WritesPackages()
    plain = order(tmp_path, "python", "-m", "server")
    elsewhere = replace(plain, command=replace(plain.command, argv=("npx", "server")), settings=Sandbox(image="own"))

    for each in (plain, elsewhere):
        assert await PreparedPackages(tmp_path / "state").before(engine, each) is each
    assert engine.boxes == []


async def given_up(provision: PreparedPackages, engine: WritesPackages, asked: Order) -> None:
    """Somebody waits for a fetch until it is under way, and no longer."""
    waiting = asyncio.ensure_future(provision.before(engine, asked))
    async with asyncio.timeout(10):
        await engine.begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_fetch_goes_on_when_nobody_waits_for_it_any_more(tmp_path: Path):
    engine = WritesPackages()
    engine.waits = asyncio.Event()
    provision = PreparedPackages(tmp_path / "state")
    asked = order(tmp_path, "npx", "server")
    await given_up(provision, engine, asked)

    engine.waits.set()
    async with asyncio.timeout(10):
        after = await provision.before(engine, asked)

    assert after.command.argv[0].endswith("/server")
    assert len(engine.boxes) == 1


async def test_nothing_is_under_way_after_the_end(tmp_path: Path):
    engine = WritesPackages()
    engine.waits = asyncio.Event()
    provision = PreparedPackages(tmp_path / "state")
    await given_up(provision, engine, order(tmp_path, "npx", "server"))

    async with asyncio.timeout(10):
        await provision.close()

    assert [path.suffix for path in (tmp_path / "state/prepared").iterdir()] == [".lock"]


async def test_a_fetch_that_failed_is_told_and_tried_again(tmp_path: Path):
    engine = WritesPackages(1, "npm error code ENOTFOUND")
    provision = PreparedPackages(tmp_path / "state")
    asked = order(tmp_path, "npx", "server")

    for _ in range(2):
        with pytest.raises(SandboxError, match="could not be fetched"):
            await provision.before(engine, asked)

    assert len(engine.boxes) == 2
