"""The network of open boxes."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.sandbox.docker.api import Engine
from bascule.sandbox.docker.network import OpenNetwork, remove_network
from bascule.sandbox.owner import Owner
from support.docker import DockerEngine


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    made = Owner(tmp_path)
    yield made
    made.release()


async def test_it_is_made_once_for_all_who_need_it_and_no_box_sees_another(
    real: Engine, daemon: DockerEngine, owner: Owner
):
    network = OpenNetwork(real, owner)
    (made,) = set(await asyncio.gather(*(network.ready() for _ in range(5))))
    (told,) = json.loads(daemon.run("network", "inspect", made))

    assert told["Name"] == network.name
    assert told["Options"]["com.docker.network.bridge.enable_icc"] == "false"
    assert (told["Internal"], told["EnableIPv6"]) == (False, False)
    assert told["Labels"]["dev.bascule.owner"] == owner.id
    await network.remove()
    await network.remove()
    assert network.name not in daemon.run("network", "ls")


async def test_one_that_somebody_has_removed_is_made_again(real: Engine, daemon: DockerEngine, owner: Owner):
    network = OpenNetwork(real, owner)
    daemon.run("network", "rm", await network.ready())
    daemon.run("network", "inspect", await network.ready())
    await network.remove()


@pytest.mark.long
async def test_one_that_is_used_stays_and_one_that_is_not_there_is_gone(
    real: Engine, daemon: DockerEngine, owner: Owner
):
    network = OpenNetwork(real, owner)
    made = await network.ready()
    with daemon.container() as container:
        daemon.run("network", "disconnect", "none", container.name)
        daemon.run("network", "connect", made, container.name)
        assert not await remove_network(real, made)
    assert await remove_network(real, made)
    assert await remove_network(real, made)


async def test_without_an_engine_nothing_is_known_to_be_gone(tmp_path: Path):
    assert not await remove_network(Engine(str(tmp_path / "none")), "n-1")
