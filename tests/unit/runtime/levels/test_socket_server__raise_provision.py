"""Which boxes are given a socket to raise levels through, and whose."""

import asyncio
import json
from pathlib import Path

import pytest

from bascule.config.model.sandbox import Sandbox
from bascule.config.state_dir import RAISE_SOCKET_VARIABLE
from bascule.core.errors import SandboxError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.levels.socket_server import RaiseProvision
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import RAISE_SOCKET
from bascule.sandbox.spec.launch_request import Order
from support.box_engines import NotingEngine

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-2")
ENGINE = NotingEngine()


class Levels:
    """What was raised, for whom and by what."""

    def __init__(self) -> None:
        self.raised: list[tuple[Principal, DataSensitivity, str]] = []

    def level_of(self, principal: Principal) -> DataSensitivity:
        levels = [level for who, level, _ in self.raised if who == principal]
        return max(levels, default=DataSensitivity.PUBLIC)

    async def raise_to(self, principal: Principal, level: DataSensitivity, cause: Cause) -> None:
        self.raised.append((principal, level, f"{cause.server}: {cause.dataset}"))


def of_kit(principal: Principal) -> Order:
    command = Command(("records",), {RAISE_SOCKET_VARIABLE: RAISE_SOCKET})
    return Order("records", Lane.OPEN, principal, command, Sandbox())


async def asked(path: str, request: object) -> object:
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(json.dumps(request).encode() + b"\n")
    answer = await reader.readline()
    writer.close()
    return json.loads(answer)


async def test_each_box_of_a_kit_server_has_a_socket_of_its_own_agent_session(tmp_path: Path):
    levels = Levels()
    provision = RaiseProvision(tmp_path / "raise", levels.level_of, levels.raise_to)
    alices, bobs = [await provision.before(ENGINE, of_kit(who)) for who in (ALICE, BOB)]

    wanted = {"raise": {"dataset": "payroll", "sensitivity": "secret"}}
    await asked(alices.sockets[RAISE_SOCKET], wanted)
    assert levels.raised == [(ALICE, DataSensitivity.SECRET, "records: payroll")]

    for order in (alices, bobs):
        await provision.after(order)
    assert list((tmp_path / "raise").iterdir()) == []


async def test_no_other_server_has_one(tmp_path: Path):
    levels = Levels()
    provision = RaiseProvision(tmp_path / "raise", levels.level_of, levels.raise_to)
    order = Order("files", Lane.OPEN, ALICE, Command(("files",), {}), Sandbox())

    assert await provision.before(ENGINE, order) is order
    await provision.after(order)
    assert not (tmp_path / "raise").exists()


async def test_a_socket_that_others_could_reach_is_not_made_and_so_no_box(tmp_path: Path):
    (tmp_path / "raise").mkdir(mode=0o755)
    levels = Levels()
    provision = RaiseProvision(tmp_path / "raise", levels.level_of, levels.raise_to)

    with pytest.raises(SandboxError, match="cannot be given a socket"):
        await provision.before(ENGINE, of_kit(ALICE))
