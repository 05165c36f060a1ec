"""The end of a container."""

import asyncio

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.docker import remove
from bascule.sandbox.docker.api import Engine
from bascule.sandbox.docker.remove import remove_container
from support.docker import DockerEngine
from support.fake_engine import answer, fake_engine


@pytest.mark.long
async def test_it_is_killed_and_gone_at_once_and_its_storage_stays(real: Engine, daemon: DockerEngine):
    daemon.run("volume", "create", "kept")
    with daemon.container() as container:
        daemon.run("volume", "inspect", "kept")
        await remove_container(real, container.name)
        assert container.name not in daemon.run("ps", "--all")
    daemon.run("volume", "rm", "kept")


async def test_many_may_ask_for_it_and_what_is_gone_is_gone(real: Engine, daemon: DockerEngine):
    with daemon.container() as container:
        await asyncio.gather(*(remove_container(real, container.name) for _ in range(5)))
        await remove_container(real, container.name)


async def test_anonymous_storage_of_a_container_is_never_removed_with_it(real: Engine, daemon: DockerEngine):
    before = set(daemon.run("volume", "ls", "--quiet").split())
    made = daemon.run("create", "--volume=/data", "empty", "/none")
    await remove_container(real, made)
    (left,) = set(daemon.run("volume", "ls", "--quiet").split()) - before
    daemon.run("volume", "rm", left)


@pytest.mark.parametrize("said", [answer(500, {"message": "device busy"}), b""])
async def test_what_may_still_be_there_is_told(said: bytes):
    async with fake_engine() as fake:
        fake.instead["v=false"] = said
        with pytest.raises(SandboxError, match="could not be removed") as caught:
            await remove_container(Engine(fake.socket), "box")
    assert "docker rm --force box" in caught.value.fix


async def test_one_that_somebody_else_removes_for_ever_is_not_awaited_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(remove, "GONE_WITHIN", 0.1)
    async with fake_engine() as fake:
        fake.instead["v=false"] = answer(409, {"message": "removal of container is already in progress"})
        with pytest.raises(SandboxError, match="could not be removed"):
            await remove_container(Engine(fake.socket), "box")
