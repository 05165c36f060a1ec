"""Calls traced through the code, with the sandbox off, on, and after a raise: no package calls into a higher one."""

import sys
import threading
import tomllib
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import bascule
from bascule import AgentSession, Runtime, ToolResult
from bascule.config import RuntimeConfig, ServerConfig, StdioTransport
from bascule.config.model.egress import Egress
from bascule.core.events import Event, HostAsked
from bascule.core.sensitivity import DataSensitivity
from support.bwrap import skip_without_bubblewrap
from support.command import BASCULE
from support.docker import reached
from support.servers import argv
from support.waiting import fail_after, until

CALLBACKS = {
    "sensitivity/Fence._look_once → runtime/Raising._follow": "The lease may be renewed, and the raise of another runtime "
    "acknowledged, only after this runtime has closed all wider links. With a queue between the two, a renewal would wait "
    "for ever once the task that reads the queue has ended.",
}
"""The only calls that go up, each with its reason. All of them follow a raise, and must be seen there."""

PACKAGE = Path(bascule.__file__).parent

PASSED = {"catalog", "core", "policy", "records", "sandbox", "sensitivity", "transports", "upstream", "wire"}
"""Packages that every call passes."""

RAISING = """
import socket
with socket.socket(socket.AF_UNIX) as end:
    end.connect("/run/bascule/raise.sock")
    end.sendall(b'{"raise": {"dataset": "salaries", "sensitivity": "confidential"}}\\n')
    end.recv(100)
"""
"""Raises the level from inside an open sandbox, as a kit server of version 0.1.0 does."""


def rows() -> dict[str, int]:
    """The row of each package in the layers of `pyproject.toml`, counted from the top."""
    project = tomllib.loads((PACKAGE.parent.parent / "pyproject.toml").read_text())
    house = next(c for c in project["tool"]["importlinter"]["contracts"] if c["id"] == "house")
    return {room.strip(): number for number, row in enumerate(house["layers"]) for room in row.split("|")}


@cache
def room_of(filename: str) -> str | None:
    path = Path(filename)
    return path.relative_to(PACKAGE).parts[0] if path.is_relative_to(PACKAGE) and path.parent != PACKAGE else None


class Tracer:
    """Profile function that keeps every call from one package of ours into another, also by way of other code."""

    def __init__(self) -> None:
        self.steps: dict[str, tuple[str, str]] = {}
        """By its place, the packages of caller and callee."""
        self.threads: set[int] = set()
        """Threads in which there was such a call."""

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        callee = room_of(frame.f_code.co_filename) if event == "call" else None
        if callee is None:
            return
        calling = frame.f_back
        while calling is not None and room_of(calling.f_code.co_filename) is None:
            calling = calling.f_back
        caller = room_of(calling.f_code.co_filename) if calling is not None else None
        if calling is None or caller is None or caller == callee:
            return
        self.steps[f"{caller}/{calling.f_code.co_qualname} → {callee}/{frame.f_code.co_qualname}"] = (caller, callee)
        self.threads.add(threading.get_ident())

    def upward(self) -> set[str]:
        row = rows()
        return {place for place, (caller, callee) in self.steps.items() if row[callee] < row[caller]}

    def passed(self) -> set[str]:
        return {callee for _, callee in self.steps.values()}


@contextmanager
def traced() -> Generator[Tracer]:
    """Every thread is traced that starts in the block, and this one."""
    tracer = Tracer()
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    try:
        yield tracer
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert len(tracer.threads) > 1, "no call was seen in a thread"


async def called_once() -> None:
    """A call from cold: the link is opened, the tools are listed, the call is made, all is closed."""
    command, *args = argv("echo")
    echo = ServerConfig("echo", StdioTransport(command, tuple(args)))
    async with fail_after(60), Runtime.from_servers({"echo": echo}) as runtime:
        outcome = await runtime.session("a", "b").call("echo_echo", {"message": "hi"})
    assert isinstance(outcome, ToolResult), outcome


async def test_with_the_sandbox_off_no_call_goes_up():
    with traced() as tracer:
        await called_once()
    assert tracer.upward() == set()
    assert tracer.passed() >= PASSED


async def test_in_a_sandbox_on_the_open_lane_no_call_goes_up(monkeypatch: pytest.MonkeyPatch):
    skip_without_bubblewrap()
    monkeypatch.setenv("BASCULE_SANDBOX", "bubblewrap")
    with traced() as tracer:
        await called_once()
    assert tracer.upward() == set()
    assert tracer.passed() >= {*PASSED, "workspace"}
    assert "sandbox/Boxing.ordering → workspace/Workspaces.of" in tracer.steps


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.long)])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    monkeypatch.setenv("BASCULE_SANDBOX", request.param)
    if request.param == "docker":
        with reached():
            yield request.param
        return
    skip_without_bubblewrap()
    yield request.param


@asynccontextmanager
async def sandboxed(events: list[Event]) -> AsyncGenerator[tuple[Runtime, AgentSession]]:
    """An agent session with a kit server that runs commands in its sandbox, and one host that may receive."""
    kit = ServerConfig("box", StdioTransport(str(BASCULE), ("sandbox", "serve")), kit=True)
    config = RuntimeConfig({"box": kit}, egress=Egress(("allowed.test",)))
    async with fail_after(120), Runtime(config, sinks=(events.append,)) as runtime:
        yield runtime, runtime.session("a", "b")


async def lane_in(session: AgentSession) -> str:
    outcome = await session.call("box_run", {"line": "echo $BASCULE_LANE"})
    assert isinstance(outcome, ToolResult), outcome
    assert outcome.structured is not None
    return outcome.structured["stdout"].strip()


async def test_after_a_raise_only_the_listed_callbacks_go_up(engine: str):
    events: list[Event] = []
    with traced() as tracer:
        async with sandboxed(events) as (runtime, session):
            lanes = [await lane_in(session)]
            # The raise closes the sandbox in which this runs.
            await session.call("box_run", {"argv": ["python3", "-c", RAISING]})
            lanes.append(await lane_in(session))
            # The name is not looked up: it is not on the list.
            await session.call("box_run", {"argv": ["curl", "--silent", "http://denied.test/"]})
            await until(lambda: any(isinstance(event, HostAsked) for event in events))
            await session.add_private_dataset("payroll", DataSensitivity.SECRET)
            lanes.append(await lane_in(session))
            assert runtime._raising is not None
            await runtime._raising.fence.renew()
            receipts = session.receipts

    assert lanes == ["open", "proxied", "sealed"]
    assert [receipt.cause.server for receipt in receipts] == ["box", ""]
    assert tracer.upward() == set(CALLBACKS)
    assert tracer.passed() >= {*PASSED, "config", "identity", "store", "workspace"}
