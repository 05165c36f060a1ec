"""Raises in one process against calls in another: once a raise has returned, the other one hands nothing over."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from bascule.config import StdioTransport, StreamableHttpTransport
from bascule.config.model.transport import Transport
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.runtime import Runtime
from bascule.sensitivity.fence import PATIENCE
from bascule.sensitivity.lease import since_boot
from support.light_servers import light_http, light_stdio
from support.racing import CALLERS, TYPED, raced
from support.waiting import fail_after, until
from support.warm import python

SECRET = DataSensitivity.SECRET
TESTS = Path(__file__).parents[1]
WAYS = {"stdio": light_stdio, "http": light_http}

RAISES = 100
"""Ten calls race against each. Ten times as many in `make soak`."""

ANSWERED = ("1 other runtimes acknowledged", "no other runtime had to be waited for")

STOPPED = 3
"""Processes that are stopped, or killed, at once."""

UNHURRIED = 10.0
"""Seconds that a raise may take beyond the patience it has with the dead, on a busy machine."""


@pytest.fixture(params=sorted(WAYS))
async def transport(request: pytest.FixtureRequest) -> AsyncGenerator[Transport]:
    async with WAYS[request.param]() as made:
        yield made


@dataclass
class Racer:
    """Another process, which calls."""

    process: asyncio.subprocess.Process
    written: Path
    pid: int = 0
    """Its own, as it says: what was started may only stand for it."""

    async def hear(self) -> Any:
        assert self.process.stdout is not None
        async with fail_after(120, "the other process"):
            line = await self.process.stdout.readline()
        assert line, "the other process has ended"
        return msgspec.json.decode(line)

    async def call_for(self, name: str, *stop: float) -> None:
        """Until its calls are under way."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{' '.join([name, *map(str, stop)])}\n".encode())
        assert await self.hear() == {"calling": name}

    async def ends(self) -> Counter[str]:
        return Counter(await self.hear())

    async def hand_overs(self) -> list[tuple[float, list[str]]]:
        """When it has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert await self.process.wait() == 0
        return msgspec.json.decode(self.written.read_bytes(), type=list[tuple[float, list[str]]])

    @property
    def stopped(self) -> bool:
        return psutil.Process(self.pid).status() == psutil.STATUS_STOPPED


@asynccontextmanager
async def racer(
    folder: Path, transport: Transport, seed: int, *, shared: bool = False, store: str | None = None
) -> AsyncGenerator[Racer]:
    """For the length of the block. Its servers end with it."""
    folder.mkdir()
    url = transport.url if isinstance(transport, StreamableHttpTransport) else ""
    command = [transport.command, *transport.args] if isinstance(transport, StdioTransport) else []
    orders = {"store": store, "url": url, "command": command, "shared": shared, "seed": seed}
    (folder / "orders").write_bytes(msgspec.json.encode(orders))
    process = await asyncio.create_subprocess_exec(
        python(),
        "-m",
        "chaos.racer",
        str(folder / "orders"),
        str(folder / "hand-overs"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=TESTS,
    )
    made = Racer(process, folder / "hand-overs")
    try:
        made.pid = (await made.hear())["ready"]
        yield made
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.fixture
def store(store_address: str | None) -> str | None:
    """Each engine: what holds between two processes on one machine must hold between two machines."""
    return store_address


@pytest.mark.long
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
async def test_once_a_raise_has_returned_no_other_process_hands_anything_over(  # noqa: PLR0917
    transport: Transport,
    shared: bool,
    store: str | None,
    tmp_path: Path,
    scale: int,
    seed: int,
    tell: Callable[[str], None],
):
    chance, ends = random.Random(seed), Counter[str]()
    returned: dict[str, tuple[float, float]] = {}
    config = raced(transport, shared=shared, store=store)
    async with (
        fail_after(900, "the races"),
        Runtime(config) as runtime,
        racer(tmp_path / "racer", transport, seed, shared=shared, store=store) as other,
    ):
        for number in range(RAISES * scale):
            name = f"s-{number}"
            session = runtime.session("alice", name)
            await other.call_for(name)
            await asyncio.sleep(chance.random() * 0.01)
            await session.add_private_dataset("salaries", SECRET)
            at = since_boot()
            ended = await other.ends()
            returned[name] = at, since_boot()
            assert set(ended) <= {Lane.OPEN, *TYPED}, f"seed {seed}: {ended}"
            # It may have looked, and answered, before anybody asked who had not.
            assert session.receipts[-1].fence in ANSWERED, f"seed {seed}"
            ends += ended
        hand_overs = await other.hand_overs()
    tell(f"seed {seed}: {len(returned)} raises against {CALLERS} calls each, {len(hand_overs)} pieces, {dict(ends)}")
    late = [(name, at - returned[name][0]) for at, names in hand_overs for name in names if at > returned[name][0]]
    assert late == [], f"seed {seed}"
    if not shared:
        # Until the next one begins, whatever is said there is of this agent session, also what does not name it.
        unnamed = [at for at, _ in hand_overs for begin, end in returned.values() if begin < at <= end]
        assert unnamed == [], f"seed {seed}"
    assert len({name for _, names in hand_overs for name in names}) == len(returned)
    assert ends[Lane.OPEN] > 0
    assert ends["BSC-300"] == len(returned) * CALLERS


async def test_a_process_that_was_stopped_hands_nothing_over_before_it_has_looked_again(
    transport: Transport, store: str | None, tmp_path: Path, scale: int, seed: int
):
    """Each at some step, with calls under way; the raise has waited for their leases to run out."""
    chance = random.Random(seed)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(fail_after(900, "the races"))
        runtime = await stack.enter_async_context(Runtime(raced(transport, store=store)))
        starting = [racer(tmp_path / str(place), transport, seed + place, store=store) for place in range(STOPPED)]
        others = await asyncio.gather(*map(stack.enter_async_context, starting))
        returned: dict[str, float] = {}
        for number in range(scale):
            sessions = [runtime.session("alice", f"s-{number}-{place}") for place in range(STOPPED)]
            names = [session.principal.session_id for session in sessions]
            moments = [chance.random() * 0.05 for _ in others]
            await asyncio.gather(*map(Racer.call_for, others, names, moments))
            await until(lambda: all(other.stopped for other in others))
            await asyncio.gather(*(session.add_private_dataset("salaries", SECRET) for session in sessions))
            returned |= dict.fromkeys(names, since_boot())
            for other in others:
                os.kill(other.pid, signal.SIGCONT)
            for ended in await asyncio.gather(*map(Racer.ends, others)):
                assert set(ended) <= {Lane.OPEN, *TYPED}, f"seed {seed}: {ended}"
                assert ended["BSC-300"] == CALLERS, f"seed {seed}: {ended}"
            # Whoever was given up by the first raise is waited for by no other.
            assert any("have run out" in session.receipts[-1].fence for session in sessions)
        pieces = [each for other in others for each in await other.hand_overs()]
    late = [(name, at - returned[name]) for at, names in pieces for name in names if at > returned[name]]
    assert late == [], f"seed {seed}"
    assert {name for _, names in pieces for name in names} == returned.keys()


async def test_a_process_that_was_killed_keeps_a_raise_waiting_no_longer_than_its_lease(
    store: str | None, tmp_path: Path, scale: int, seed: int
):
    async with (
        fail_after(900, "the races"),
        light_http() as transport,
        Runtime(raced(transport, store=store)) as runtime,
    ):
        for number in range(scale):
            async with racer(tmp_path / str(number), transport, seed, store=store) as other:
                session = runtime.session("alice", f"s-{number}")
                await other.call_for(f"s-{number}")
                os.kill(other.pid, signal.SIGKILL)
                began = since_boot()
                await session.add_private_dataset("salaries", SECRET)
                assert since_boot() - began < PATIENCE + UNHURRIED
            assert session.receipts[-1].fence == "the leases of 1 have run out"
            # It is waited for once, and by nobody again.
            following = runtime.session("bob", f"s-{number}")
            await following.add_private_dataset("salaries", SECRET)
            assert following.receipts[-1].fence == "no other runtime had to be waited for"
