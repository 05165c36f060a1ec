"""From inside a sealed or proxied box nothing is reached, by whichever way is tried."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from bascule.core.sensitivity import Lane
from bascule.sandbox.spec.engine import Engine
from support.boxes import engine as engine  # noqa: PLC0414 -- a fixture
from support.boxes import ordered, run_in
from support.outside_world import World, world

PROBES = str(Path(__file__).parents[1] / "servers/probes.py")

HARMLESS_OUTSIDE = {
    "tcp to the loopback",
    "tcp to this machine's address",
    "udp to the loopback",
    "a unix socket without a file",
    "a process outside",
}
"""Ways that lead somewhere from any process of this machine. Were they closed there too, the probes would prove nothing."""


def led_somewhere(output: str) -> dict[str, str]:
    answers: dict[str, str] = json.loads(output.splitlines()[-1])
    assert len(answers) >= 30
    return {way: answer for way, answer in answers.items() if not answer.startswith("no: ")}


async def probed_outside(outside: World) -> dict[str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, PROBES, json.dumps(outside.targets), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return led_somewhere(output.decode())


async def test_outside_a_box_the_same_probes_reach_what_listens(tmp_path: Path) -> None:
    async with world(tmp_path) as outside:
        assert (await probed_outside(outside)).keys() >= HARMLESS_OUTSIDE
        assert outside.came


@pytest.mark.parametrize("lane", [Lane.SEALED, Lane.PROXIED])
async def test_no_way_leads_out_of_a_tight_box(engine: Engine, tmp_path: Path, lane: Lane) -> None:
    async with world(tmp_path) as outside:
        targets = json.dumps({**outside.targets, "tight": True})
        ended = await run_in(engine, ordered(sys.executable, PROBES, targets, lane=lane))
        assert led_somewhere(ended.output) == {}
        assert outside.came == []


async def test_an_open_box_does_not_reach_this_machine_itself(engine: Engine, tmp_path: Path) -> None:
    if await getattr(engine, "shares_host_network", _no)():
        pytest.skip("neither pasta nor slirp4netns works here (Debian: apt-get install passt)")
    async with world(tmp_path) as outside:
        ended = await run_in(engine, ordered(sys.executable, PROBES, json.dumps(outside.targets), lane=Lane.OPEN))
        led = led_somewhere(ended.output)
        assert not led.keys() & {
            "tcp to the loopback",
            "tcp to the loopback of IPv6",
            "udp to the loopback",
            "tcp to no address",
        }
        assert not led.keys() & {"a unix socket without a file", "a unix socket of somebody", "a process outside"}
        assert outside.came == []
        assert {"interfaces", "where names are asked"} <= led.keys()


async def _no() -> str:
    return ""
