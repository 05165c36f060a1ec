"""Raises at one gateway against calls at both: once a raise has returned, neither hands anything over."""

import asyncio
import json
import random
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from bascule.config import StreamableHttpTransport
from bascule.sensitivity.lease import since_boot
from support.light_servers import light_http
from support.ports import free_port
from support.racing import CALLERS, TYPED, marker
from support.scenarios import write_yaml
from support.waiting import fail_after
from support.warm import python
from support.workers import AUTH, call

TESTS = Path(__file__).parents[1]

RAISES = 50
"""Ten calls race against each, five at either gateway, for each kind of server. Ten times as many in `make soak`."""

VAULT = {"raises": {"echo": "secret"}, "permissions": {"echo": "read"}, "vouched": "secret"}
"""A server to which a call raises the level before it is sent, and that may be called then."""

OPEN = "open"


@dataclass
class Gateway:
    """One of them, in a process of its own."""

    process: asyncio.subprocess.Process
    port: int
    written: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def hand_overs(self) -> list[tuple[float, list[str]]]:
        """When it has ended."""
        self.process.send_signal(signal.SIGTERM)
        assert await self.process.wait() == 0
        return msgspec.json.decode(self.written.read_bytes(), type=list[tuple[float, list[str]]])


@asynccontextmanager
async def gateway(folder: Path, url: str, vault: str, database: str, **work: Any) -> AsyncGenerator[Gateway]:
    folder.mkdir()
    port = free_port()
    limits, timeouts = {"concurrent": 1000}, {"connect": 60, "reconnect": 60, "probe": 30, "list": 30, "call": 60}
    servers = {
        "work": {"url": url, "limits": limits, "timeouts": timeouts, **work},
        "vault": {"url": vault, **VAULT},
    }
    path = write_yaml(folder, servers, gateway={"port": port, "auth": AUTH}, store=database)
    words = ("serve", "--config", str(path), "--json")
    process = await asyncio.create_subprocess_exec(
        *(python(), "-m", "chaos.gateway_racer", url, str(folder / "hand-overs"), *words),
        cwd=TESTS,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        async with fail_after(60, "the start of a gateway"):
            assert "url" in json.loads(await process.stdout.readline())
        yield Gateway(process, port, folder / "hand-overs")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def calls_of(http: aiohttp.ClientSession, url: str, name: str, chance: random.Random) -> Counter[str]:
    """Call until the open lane is closed. How the calls have ended."""
    ends: Counter[str] = Counter()
    while True:
        status, message = await call(http, url, "work_echo", {"message": marker(name)}, session=name)
        end = str(status) if status != 200 else _end_of(message["result"])
        ends[end] += 1
        if end not in {OPEN, "BSC-408"}:
            return ends
        if chance.random() < 0.5:
            await asyncio.sleep(chance.random() * 0.003)


def _end_of(result: dict[str, Any]) -> str:
    return result["_meta"]["dev.bascule/failure"]["code"] if result.get("isError") else OPEN


@pytest.mark.long
@pytest.mark.parametrize("work", [{}, {"stateless": True, "lifetime": "shared"}], ids=["own", "shared"])
async def test_once_a_raise_has_returned_no_gateway_hands_anything_over(
    work: dict[str, Any], database: str, tmp_path: Path, scale: int, seed: int, tell: Callable[[str], None]
):
    chance, ends, returned = random.Random(seed), Counter[str](), dict[str, float]()
    async with fail_after(900, "the races"), light_http() as server, light_http() as vault:
        assert isinstance(server, StreamableHttpTransport)
        assert isinstance(vault, StreamableHttpTransport)
        async with (
            gateway(tmp_path / "one", server.url, vault.url, database, **work) as one,
            gateway(tmp_path / "two", server.url, vault.url, database, **work) as two,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
        ):
            both = (one, two)
            for number in range(RAISES * scale):
                name = f"s-{number}"
                # Both have their links, and are in the midst of it.
                for each in both:
                    status, _ = await call(http, each.url, "work_echo", {"message": marker(name)}, session=name)
                    assert status == 200
                places = [both[place % 2].url for place in range(CALLERS)]
                callers = [asyncio.ensure_future(calls_of(http, place, name, chance)) for place in places]
                await asyncio.sleep(chance.random() * 0.01)
                raiser = chance.choice(both)
                status, message = await call(http, raiser.url, "vault_echo", {"message": "all of it"}, session=name)
                returned[name] = since_boot()
                assert (status, _end_of(message["result"])) == (200, OPEN), message
                for ended in await asyncio.gather(*callers):
                    assert set(ended) <= {OPEN, *TYPED}, f"seed {seed}: {ended}"
                    ends += ended
            hand_overs = [each for gateway in both for each in await gateway.hand_overs()]
    tell(f"seed {seed}: {len(returned)} raises against {CALLERS} calls each, {len(hand_overs)} pieces, {dict(ends)}")
    late = [(name, at - returned[name]) for at, names in hand_overs for name in names if at > returned[name]]
    assert late == [], f"seed {seed}"
    assert {name for _, names in hand_overs for name in names} == returned.keys()
    assert ends[OPEN] > 0
    assert ends["BSC-300"] == len(returned) * CALLERS
