"""The way from an open box to the machine that it runs on is shut, and no other."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.docker import host_firewall
from bascule.sandbox.docker.api import Engine, started
from bascule.sandbox.docker.attach import listening_to
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.docker.host_firewall import addresses_in, gateways, own_addresses
from support import docker
from support.docker_boxes import an_order, python, said
from support.outer_world import CALL, PORT, elsewhere, the_machine

TRIE = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/8 2 0 2
           |-- 127.0.0.1
              /32 host LOCAL
     |-- 10.1.2.3
        /32 host LOCAL
     |-- 10.1.2.255
        /32 link BROADCAST
"""


async def call_from(boxes: DockerEngine, real: Engine, address: str) -> str:
    box = boxes.box(an_order(Lane.OPEN, *python(CALL, address, str(PORT))))
    run = await box.open()
    return await said(real, run)


@pytest.mark.long
async def test_an_open_box_reaches_what_is_elsewhere_and_not_the_machine_it_runs_on(
    boxes: DockerEngine, real: Engine, daemon: docker.DockerEngine, tmp_path: Path
):
    with the_machine(daemon, tmp_path) as heard, elsewhere(daemon, tmp_path) as host:
        (network,) = json.loads(daemon.run("network", "inspect", await boxes._network.ready()))
        gateway = network["IPAM"]["Config"][0]["Gateway"]

        assert await call_from(boxes, real, host.address) == "hello"
        assert (await call_from(boxes, real, gateway)).startswith("no:")
    assert heard.read_bytes() == b""


@pytest.mark.long
async def test_without_that_the_machine_would_be_reached(
    boxes: DockerEngine, real: Engine, daemon: docker.DockerEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """So that the test above means something."""

    async def not_at_all(*_: object) -> None:
        """Leaves it open."""

    monkeypatch.setattr("bascule.sandbox.docker.box.shut", not_at_all)
    with the_machine(daemon, tmp_path):
        (network,) = json.loads(daemon.run("network", "inspect", await boxes._network.ready()))
        assert await call_from(boxes, real, network["IPAM"]["Config"][0]["Gateway"]) == "hello"


@pytest.mark.long
async def test_no_box_reaches_another(boxes: DockerEngine, real: Engine, daemon: docker.DockerEngine):
    listening = "import socket; s = socket.create_server(('0.0.0.0', 8080)); print('ready', flush=True); s.accept()"
    one = await boxes.box(an_order(Lane.OPEN, *python(listening))).open()
    run_id = await real.prepare(one)
    async with listening_to(real, *started(run_id)) as ear:
        assert await ear.until(b"ready")
        (told,) = json.loads(daemon.run("inspect", one.container))
        (network,) = told["NetworkSettings"]["Networks"].values()
        assert (await call_from(boxes, real, network["IPAddress"])).startswith("no:")


@pytest.mark.long
async def test_a_box_whose_way_to_the_machine_cannot_be_shut_is_no_box(
    boxes: DockerEngine, daemon: docker.DockerEngine, monkeypatch: pytest.MonkeyPatch
):
    made = host_firewall.shutter

    def without_the_right(*args: object) -> host_firewall.Shutter:
        good = made(*args)  # type: ignore[arg-type]
        return replace(good, body={**good.body, "HostConfig": {**good.body["HostConfig"], "CapAdd": []}})

    monkeypatch.setattr("bascule.sandbox.docker.provision.shutter", without_the_right)
    box = boxes.box(an_order(Lane.OPEN, "true"))
    with pytest.raises(SandboxError, match="could not be shut") as caught:
        await box.open()
    assert "not permitted" in caught.value.evidence
    assert box.name not in daemon.run("ps", "--all")


@pytest.mark.long
async def test_open_boxes_leave_no_second_container(boxes: DockerEngine, daemon: docker.DockerEngine):
    opened = [boxes.box(an_order(Lane.OPEN, "true")) for _ in range(3)]
    await asyncio.gather(*(box.open() for box in opened))
    listed = daemon.run("ps", "--all", "--quiet", f"--filter=label=dev.bascule.owner={boxes._owner.id}").split()
    assert len(listed) == len(opened)


def test_addresses_of_a_machine_are_read_from_what_its_kernel_tells():
    assert addresses_in(TRIE) == ["10.1.2.3"]
    assert all(not address.startswith("127.") for address in own_addresses())


def test_where_the_kernel_tells_nothing_only_the_gateway_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host_firewall, "ADDRESSES", tmp_path / "none")
    assert own_addresses() == []


def test_gateways_are_those_of_the_containers_networks():
    told = {"NetworkSettings": {"Networks": {"a": {"Gateway": "172.18.0.1"}, "b": {"Gateway": ""}, "c": None}}}
    assert list(gateways(told)) == ["172.18.0.1"]
