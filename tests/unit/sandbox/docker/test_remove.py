"""Removal of containers: one by one, and those of dead runtimes."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bascule.core.errors import ConnectFailed, SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.docker import remove as removal
from bascule.sandbox.docker.api import Engine
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.docker.labels import OWNER, SERVER, STATE, state_name
from bascule.sandbox.docker.remove import boxes_of, is_dead, reap, remove, remove_container
from bascule.sandbox.owner import Owner
from support import docker
from support.docker_boxes import an_order
from support.fake_engine import answer, fake_engine

DYING = """
import asyncio, os, sys
from pathlib import Path
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.owner import Owner
from bascule.core.sensitivity import Lane
from support.docker_boxes import an_order

async def main():
    boxes = DockerEngine(Owner(Path(sys.argv[1])), os.environ)
    kept = [boxes.box(an_order(lane, "sleep", "600")) for lane in (Lane.OPEN, Lane.SEALED)]
    await asyncio.gather(*(box.open() for box in kept))
    print(*(box.name for box in kept), flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


def left_by_one_that_was_killed(state: Path, host: str) -> list[str]:
    """The names of two boxes whose runtime has died."""
    environ = {**os.environ, "DOCKER_HOST": host, "PYTHONPATH": str(Path(docker.__file__).parents[1])}
    ran = subprocess.run(
        [sys.executable, "-c", DYING, str(state)], env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    names = ran.stdout.split()
    assert len(names) == 2, ran.stderr
    return names


@pytest.mark.long
async def test_what_a_runtime_that_was_killed_has_left_is_removed_network_included(
    real: Engine, daemon: docker.DockerEngine, tmp_path: Path
):
    names = await asyncio.to_thread(left_by_one_that_was_killed, tmp_path / "state", daemon.host)
    assert {box.name for box in await boxes_of(real) if box.running} >= set(names)
    owner = names[0].split("-")[1]
    assert f"bascule-{owner}" in daemon.run("network", "ls")

    gone = await reap(real, tmp_path / "state")

    assert set(gone) == {*names, f"bascule-{owner}"}
    assert not any(name in daemon.run("ps", "--all") for name in names)
    assert f"bascule-{owner}" not in daemon.run("network", "ls")
    assert await reap(real, tmp_path / "state") == []


@pytest.mark.long
async def test_boxes_of_the_living_stay_and_so_do_those_of_other_state_folders(
    boxes: DockerEngine, real: Engine, daemon: docker.DockerEngine, tmp_path: Path
):
    mine = boxes.box(an_order(Lane.OPEN, "sleep", "600"))
    await mine.open()
    theirs = await asyncio.to_thread(left_by_one_that_was_killed, tmp_path / "other", daemon.host)

    assert await reap(real, tmp_path / "state") == []
    assert mine.name not in await reap(real, tmp_path / "other")

    assert mine.name in daemon.run("ps")
    assert not any(name in daemon.run("ps", "--all") for name in theirs)


@pytest.mark.parametrize("labels", [(), (f"{SERVER}=files",), (f"{OWNER}=",), (f"{OWNER}=dead", f"{STATE}=other")])
async def test_what_only_looks_like_ours_is_not_touched(
    real: Engine, daemon: docker.DockerEngine, tmp_path: Path, labels: tuple[str, ...]
):
    name = f"bascule-{os.urandom(6).hex()}-files-abcd1234"
    given = [f"--label={label}" for label in labels]
    daemon.run("create", f"--name={name}", *given, "empty", "/none")
    try:
        assert name not in await reap(real, tmp_path / "state")
        assert name in daemon.run("ps", "--all")
        if OWNER not in str(labels):
            assert not await remove(real, name)
            assert name in daemon.run("ps", "--all")
    finally:
        daemon.run("rm", "--force", name)


@pytest.mark.long
async def test_all_boxes_are_told_with_what_is_known_of_them(boxes: DockerEngine, real: Engine):
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600"))
    run = await box.open()
    (found,) = [each for each in await boxes_of(real) if each.id == run.container]

    assert (found.name, found.server, found.lane, found.running) == (box.name, "files", "sealed", True)
    assert (found.owner, found.state) == (boxes._owner.id, state_name(boxes._owner.state))
    assert found.created > 0
    assert found.principal
    assert "alice" not in found.principal


@pytest.mark.parametrize("by", ["name", "id"])
@pytest.mark.long
async def test_one_box_is_removed_by_its_name(boxes: DockerEngine, real: Engine, by: str):
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600"))
    run = await box.open()

    assert await remove(real, box.name if by == "name" else run.container)
    assert run.container not in {each.id for each in await boxes_of(real)}
    assert not await remove(real, box.name)


def test_an_owner_is_dead_when_its_lock_can_be_had_or_is_gone(tmp_path: Path):
    owner = Owner(tmp_path)
    assert not is_dead(tmp_path, owner.id)
    owner.release()
    assert is_dead(tmp_path, owner.id)


async def test_an_engine_that_cannot_be_asked_is_told(tmp_path: Path):
    away = Engine(str(tmp_path / "none"))
    with pytest.raises(ConnectFailed):
        await reap(away, tmp_path)


@pytest.mark.long
async def test_a_container_is_killed_and_gone_at_once_and_its_volume_stays(real: Engine, daemon: docker.DockerEngine):
    daemon.run("volume", "create", "kept")
    with daemon.container() as container:
        daemon.run("volume", "inspect", "kept")
        await remove_container(real, container.name)
        assert container.name not in daemon.run("ps", "--all")
    daemon.run("volume", "rm", "kept")


async def test_a_container_may_be_removed_by_many_at_once_and_once_more(real: Engine, daemon: docker.DockerEngine):
    with daemon.container() as container:
        await asyncio.gather(*(remove_container(real, container.name) for _ in range(5)))
        await remove_container(real, container.name)


async def test_anonymous_volumes_go_with_their_container_and_named_ones_stay(real: Engine, daemon: docker.DockerEngine):
    before = set(daemon.run("volume", "ls", "--quiet").split())
    made = daemon.run("create", "--volume=/data", "--volume=named:/named", "empty", "/none")
    assert len(set(daemon.run("volume", "ls", "--quiet").split()) - before) == 2
    await remove_container(real, made)
    assert set(daemon.run("volume", "ls", "--quiet").split()) - before == {"named"}
    daemon.run("volume", "rm", "named")


@pytest.mark.parametrize("said", [answer(500, {"message": "device busy"}), b""])
async def test_a_container_that_may_still_be_there_is_reported(said: bytes):
    async with fake_engine() as fake:
        fake.instead["v=true"] = said
        with pytest.raises(SandboxError, match="could not be removed") as caught:
            await remove_container(Engine(fake.socket), "box")
    assert "docker rm --force box" in caught.value.fix


async def test_a_removal_by_somebody_else_is_not_awaited_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(removal, "GONE_WITHIN", 0.1)
    async with fake_engine() as fake:
        fake.instead["v=true"] = answer(409, {"message": "removal of container is already in progress"})
        with pytest.raises(SandboxError, match="could not be removed"):
            await remove_container(Engine(fake.socket), "box")
