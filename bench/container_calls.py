"""Benchmark of sandboxes: a governed call of a server in a container or a bubblewrap sandbox beside the same server as
a plain process, and the times to start, tighten and cut sandboxes."""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from bascule import Runtime, ToolResult
from bascule.config import ContainerTransport, Limits, ServerConfig, StdioTransport
from bascule.config.model.sandbox import Sandbox
from bascule.config.model.transport import Transport
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.owner import Owner
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.launch_request import Order
from bench.result import Goal, Report, Row
from bench.rounds import Call, interleaved
from bench.stdio_peers import ARGUMENTS, SERVER
from bench.stores import TESTS

CALLS = 300
ROUNDS = 7


async def _middle(call: Call) -> float:
    """Seconds of the call in the middle, of many one after the other."""
    taken: list[float] = []
    for _ in range(CALLS):
        started = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - started)
    return median(taken)


@asynccontextmanager
async def _calls(transport: Transport, box: Sandbox | None = None) -> AsyncGenerator[Call]:
    sandbox = box or ("none" if isinstance(transport, StdioTransport) else None)
    config = ServerConfig("echo", transport, limits=Limits(concurrent=None), sandbox=sandbox)
    async with Runtime.from_servers({"echo": config}) as runtime:
        session = runtime.session("bench", "containers")

        async def call() -> None:
            outcome = await session.call("echo_echo", ARGUMENTS)
            assert isinstance(outcome, ToolResult), outcome

        await call()
        yield call


@contextmanager
def _engine() -> Generator[Any]:
    # The tests know how to start an engine of their own.
    sys.path.insert(0, TESTS)
    docker = import_module("support.docker")
    if not docker.installed():
        yield None
        return
    with docker.reached() as engine:
        yield engine


@contextmanager
def _boxed_by(kind: str) -> Generator[None]:
    before = os.environ.get("BASCULE_SANDBOX", "")
    os.environ["BASCULE_SANDBOX"] = kind
    try:
        yield
    finally:
        os.environ["BASCULE_SANDBOX"] = before


async def _namespaces(report: Report) -> None:
    """Calls of the same server in a bubblewrap sandbox, and times of a whole raise."""
    if shutil.which("bwrap") is None:
        print("\nno bubblewrap here: nothing was measured of it")
        return
    async with AsyncExitStack() as stack:
        plain = await stack.enter_async_context(_calls(StdioTransport(sys.executable, (SERVER,))))
        with _boxed_by("bubblewrap"):
            boxed = await stack.enter_async_context(_calls(StdioTransport(sys.executable, (SERVER,)), Sandbox()))
        taken = await interleaved({"plain process": plain, "bubblewrap": boxed}, _middle, ROUNDS)
    ratio = Row("bubblewrap / plain process", taken.ratio("bubblewrap", "plain process"), "×", Goal("at most", 1.05))
    report.add("one call after the other, in a box of bubblewrap", [*taken.rows("µs", 1e6), ratio])
    with _boxed_by("bubblewrap"):
        raised = await _raised(10)
    rows = [
        Row("bare Python process start", await _process_start(), "s"),
        Row("first one with a new state folder", raised.first, "s", Goal("at most", 1.5)),
        Row("one after the other, median", raised.median, "s", Goal("at most", 0.3)),
        Row("ten at once", raised.at_once, "s", Goal("at most", 5)),
    ]
    report.add("a raise, with sandboxes of bubblewrap", rows)


async def _process_start() -> float:
    async def start() -> None:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "pass")
        await process.wait()

    return median([await _seconds(start) for _ in range(10)])


@dataclass(frozen=True, slots=True)
class Raised:
    """Seconds of raises, each of an agent session with a server in an open sandbox."""

    first: float
    median: float
    at_once: float


async def _raised(count: int) -> Raised:
    config = ServerConfig("echo", StdioTransport(sys.executable, (SERVER,)), sandbox=Sandbox())
    with _new_state():
        async with Runtime.from_servers({"echo": config}) as runtime:
            sessions = [runtime.session("bench", f"{time.time()}-{number}") for number in range(2 * count + 1)]
            await asyncio.gather(*(session.call("echo_echo", ARGUMENTS) for session in sessions))
            raises = [partial(each.add_private_dataset, "payroll", DataSensitivity.SECRET) for each in sessions]
            alone = [await _seconds(each) for each in raises[: count + 1]]
            at_once = await _seconds(lambda: asyncio.gather(*(each() for each in raises[count + 1 :])))
            return Raised(alone[0], median(alone[1:]), at_once)


@contextmanager
def _new_state() -> Generator[None]:
    before = os.environ.get("BASCULE_HOME")
    with tempfile.TemporaryDirectory(prefix="bascule-bench-") as folder:
        os.environ["BASCULE_HOME"] = folder
        try:
            yield
        finally:
            os.environ.pop("BASCULE_HOME")
            if before is not None:
                os.environ["BASCULE_HOME"] = before


async def run(report: Report) -> None:
    await _namespaces(report)
    with _engine() as engine:
        if engine is None:
            print("\nno container engine can be started here: nothing was measured")
            return
        await _exec(report, engine)
        await _boxes(report, engine)


async def _exec(report: Report, engine: Any) -> None:
    with engine.container() as container:
        ways: dict[str, Transport] = {
            "plain process": StdioTransport(sys.executable, (SERVER,)),
            "docker exec": ContainerTransport(container.name, sys.executable, (SERVER,)),
        }
        async with AsyncExitStack() as stack:
            peers = {name: await stack.enter_async_context(_calls(way)) for name, way in ways.items()}
            taken = await interleaved(peers, _middle, ROUNDS)
    more = (taken.middle("docker exec") - taken.middle("plain process")) * 1e3
    goal = Goal("at most", 1.0)
    report.add(
        "one call after the other, in a container",
        [*taken.rows("µs", 1e6), Row("a call takes longer by", more, "ms", goal)],
    )


async def _boxes(report: Report, engine: Any) -> None:
    with tempfile.TemporaryDirectory(prefix="bascule-bench-") as folder:
        owner = Owner(Path(folder))
        boxes = DockerEngine(owner, {**os.environ, "DOCKER_HOST": engine.host, "BASCULE_HOME": folder})
        try:
            await boxes.box(_order(Lane.OPEN)).open()
            tightened = [await _tightened(boxes) for _ in range(5)]
            cut = [await _cut(boxes) for _ in range(5)]
            ten = await _seconds(lambda: asyncio.gather(*(boxes.box(_order(Lane.SEALED)).open() for _ in range(10))))
        finally:
            await boxes.close()
            owner.release()
    report.add(
        "boxes that are containers",
        [
            Row("closed, and the tighter one open", median(tightened), "s", Goal("at most", 1.5)),
            Row("an open one's network is gone", median(cut) * 1e3, "ms", Goal("at most", 150)),
            Row("ten at once", ten, "s", Goal("at most", 5)),
        ],
    )


def _order(lane: Lane) -> Order:
    command = Command((sys.executable, SERVER), {"PATH": os.environ["PATH"]})
    return Order("echo", lane, Principal("bench", "boxes"), command, Sandbox())


async def _tightened(boxes: DockerEngine) -> float:
    wide, tight = boxes.box(_order(Lane.OPEN)), boxes.box(_order(Lane.SEALED))
    await wide.open()
    started = time.perf_counter()
    await wide.close()
    await tight.open()
    seconds = time.perf_counter() - started
    await tight.close()
    return seconds


async def _cut(boxes: DockerEngine) -> float:
    box = boxes.box(_order(Lane.OPEN))
    await box.open()
    try:
        return await _seconds(box.cut)
    finally:
        await box.close()


async def _seconds(doing: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await doing()
    return time.perf_counter() - started
