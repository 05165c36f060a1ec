"""One real call, followed through the code: every step goes down the house or stays in its row."""

import sys
import tomllib
from pathlib import Path
from types import FrameType
from typing import Any

import bascule
from bascule import Runtime, ToolResult
from bascule.config import ServerConfig, StdioTransport
from support.waiting import fail_after

PACKAGE = Path(bascule.__file__).parent
SERVER = Path(__file__).parent.parent / "servers" / "echo.py"


def rows() -> dict[str, int]:
    """Each room's row in the house, the top one first."""
    project = tomllib.loads((PACKAGE.parent.parent / "pyproject.toml").read_text())
    house = next(c for c in project["tool"]["importlinter"]["contracts"] if c["id"] == "house")
    return {room.strip(): number for number, row in enumerate(house["layers"]) for room in row.split("|")}


def room_of(filename: str) -> str | None:
    path = Path(filename)
    return path.relative_to(PACKAGE).parts[0] if path.is_relative_to(PACKAGE) and path.parent != PACKAGE else None


class Tracer:
    """Notes every call from one room of ours straight into another."""

    def __init__(self) -> None:
        self.steps: dict[tuple[str, str], str] = {}

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event != "call" or frame.f_back is None:
            return
        callee, caller = room_of(frame.f_code.co_filename), room_of(frame.f_back.f_code.co_filename)
        if callee is not None and caller is not None and callee != caller:
            place = f"{caller}/{frame.f_back.f_code.co_qualname} → {callee}/{frame.f_code.co_qualname}"
            self.steps.setdefault((caller, callee), place)


async def traced_call() -> Tracer:
    """A call from cold: the link is opened, the tools are listed, the call is made, all is closed."""
    tracer = Tracer()
    transport = StdioTransport(command=sys.executable, args=(str(SERVER),))
    config = ServerConfig(name="echo", transport=transport)
    sys.setprofile(tracer)
    try:
        async with fail_after(20), Runtime.from_servers({"echo": config}) as runtime:
            outcome = await runtime.session("a", "b").call("echo_echo", {"message": "hi"})
    finally:
        sys.setprofile(None)
    assert isinstance(outcome, ToolResult), outcome
    return tracer


async def test_a_call_never_steps_up():
    row = rows()
    tracer = await traced_call()
    upward = [place for (caller, callee), place in tracer.steps.items() if row[callee] < row[caller]]
    assert not upward, "\n".join(["steps that go up:", *upward])


async def test_the_trace_saw_every_room_a_call_passes():
    callees = {callee for _, callee in (await traced_call()).steps}
    assert {
        "catalog",
        "sensitivity",
        "policy",
        "upstream",
        "transports",
        "wire",
        "records",
        "sandbox",
        "core",
    } <= callees
