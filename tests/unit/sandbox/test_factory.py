"""What boxes are ordered with."""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.config import ServerConfig, StdioTransport
from bascule.config.model.sandbox import Sandbox
from bascule.config.model.transport import UnixSocketTransport
from bascule.core.errors import LaneClosed, SandboxError
from bascule.core.principal import Nobody, Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.sandbox.engines import Engines
from bascule.sandbox.factory import UNBOXED, Boxing, ServerBox
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.engine import Engine
from bascule.sandbox.spec.launch_request import Order
from bascule.transports.process.stdio import StdioDispatcher
from bascule.workspace.workspaces import Workspaces
from support.box_engines import NotingEngine
from support.servers import CAP, SERVERS

ALICE = Principal("alice", "s-1")
COMMAND = Command(("files",), {"A": "1"})
SERVER = ServerConfig("files", StdioTransport("files"))


def ordered(boxing: Boxing, server: ServerConfig = SERVER, lane: Lane = Lane.SEALED) -> ServerBox:
    ordering = boxing.ordering(server, lane, ALICE)
    assert ordering is not None
    assert ordering.lane is ordering.of(COMMAND).order.lane
    return ordering.of(COMMAND)


class Given:
    """A provision that notes what it did."""

    def __init__(self, name: str, did: list[str], trouble: SandboxError | None = None) -> None:
        self._name = name
        self._did = did
        self._trouble = trouble

    async def before(self, engine: Engine, order: Order) -> Order:
        self._did.append(f"{self._name} before")
        if self._trouble is not None:
            raise self._trouble
        return replace(order, sockets={**order.sockets, f"/run/{self._name}": engine.kind})

    async def after(self, order: Order) -> None:
        self._did.append(f"{self._name} after {sorted(order.sockets)}")


def test_where_there_is_no_engine_nothing_is_boxed():
    assert UNBOXED.ordering(SERVER, Lane.OPEN, ALICE) is None
    assert not UNBOXED.has_twin(SERVER)


def test_a_box_is_on_the_lane_that_it_is_ordered_for_and_has_the_workspace(tmp_path: Path):
    engine, workspaces = NotingEngine(), Workspaces(tmp_path)
    box = ordered(Boxing(Engines((engine,)), workspaces=workspaces, room=4096))

    place = workspaces.of(ALICE).host_path("/workspace")
    assert box.order == Order("files", Lane.SEALED, ALICE, COMMAND, Sandbox(), place, 4096)
    workspaces.close()


def test_what_is_nobodys_has_no_workspace(tmp_path: Path):
    boxing = Boxing(Engines((NotingEngine(),)), workspaces=Workspaces(tmp_path))
    ordering = boxing.ordering(SERVER, Lane.OPEN, Nobody("bascule", "start"))

    assert ordering is not None
    assert ordering.of(COMMAND).order.workspace is None


def test_a_box_that_cannot_be_had_is_an_error_and_not_a_process():
    asked = replace(SERVER, sandbox=Sandbox(engine="docker"))
    boxing = Boxing(Engines((NotingEngine(),), {"docker": "no socket"}))

    assert not boxing.has_twin(asked)
    with pytest.raises(SandboxError, match="no docker box"):
        boxing.ordering(asked, Lane.OPEN, ALICE)


@pytest.mark.parametrize(
    "word", [{"vouched": DataSensitivity.SECRET}, {"isolated": UnixSocketTransport("unix:///run/twin")}]
)
def test_a_named_twin_or_the_operators_word_counts_more_than_a_box(word: dict[str, Any]):
    boxing = Boxing(Engines((NotingEngine(),)))

    assert boxing.has_twin(SERVER)
    assert not boxing.has_twin(replace(SERVER, **word))


def test_what_is_vouched_for_keeps_the_way_out_that_the_operator_knows_of():
    boxing = Boxing(Engines((NotingEngine(),)))
    assert ordered(boxing, replace(SERVER, vouched=DataSensitivity.SECRET)).order.lane is Lane.OPEN


async def test_what_a_box_needs_is_there_before_it_is_made_and_goes_after_it():
    engine, did = NotingEngine(), list[str]()
    engine.did = did
    box = ordered(Boxing(Engines((engine,)), (Given("proxy", did), Given("raise", did))))

    assert await box.open() == COMMAND
    assert engine.orders[0].sockets == {"/run/proxy": "bubblewrap", "/run/raise": "bubblewrap"}
    await box.close()
    both = ["/run/proxy", "/run/raise"]
    assert did == [
        *("proxy before", "raise before", "open sealed", "close sealed"),
        *(f"raise after {both}", f"proxy after {both}"),
    ]


async def test_a_box_whose_needs_cannot_be_met_is_not_made_and_leaves_nothing():
    engine, did = NotingEngine(), list[str]()
    trouble = Given("proxy", did, SandboxError("no proxy"))
    box = ordered(Boxing(Engines((engine,)), (trouble,)))

    with pytest.raises(SandboxError, match="no proxy"):
        await box.open()
    await box.close()
    assert (engine.orders, did) == ([], ["proxy before", "proxy after []"])


class Kept:
    """A box that confines nothing, and notes that it was made and is gone."""

    def __init__(self, command: Command) -> None:
        self.engine = NotingEngine()
        order = Order("peer", Lane.SEALED, Principal("alice", "s-1"), command, Sandbox(session_limit=60))
        self.box = ServerBox(self.engine, order)


async def test_a_server_in_a_box_is_started_by_it_and_the_box_goes_last():
    kept = Kept(Command((sys.executable, str(SERVERS / "echo.py")), dict(os.environ)))
    dispatcher = StdioDispatcher(kept.box, max_message=CAP)
    await dispatcher.open()
    assert kept.engine.did == ["open sealed"]
    await dispatcher.close(1)
    assert kept.engine.did == ["open sealed", "close sealed"]


async def test_what_is_severed_is_killed_at_once_if_it_is_in_a_box():
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    kept = Kept(Command((sys.executable, "-c", stubborn), dict(os.environ)))
    dispatcher = StdioDispatcher(kept.box, max_message=CAP)
    await dispatcher.open()
    child = dispatcher._child
    assert child is not None

    dispatcher.sever(LaneClosed("private"))
    async with asyncio.timeout(10):
        assert await child.exited == -9
    await dispatcher.close(60)


async def test_a_box_that_has_lived_long_enough_is_lost_with_the_reason():
    kept = Kept(Command((sys.executable, "-c", "import time; time.sleep(60)"), dict(os.environ)))
    kept.box.order = replace(kept.box.order, settings=Sandbox(session_limit=0.01))
    dispatcher = StdioDispatcher(kept.box, max_message=CAP)
    await dispatcher.open()
    async with asyncio.timeout(10):
        reason = await dispatcher.lost
    assert "sandbox.session_limit" in reason.message
    await dispatcher.close(0.1)
