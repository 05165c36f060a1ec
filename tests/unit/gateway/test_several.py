"""One gateway of several: how it begins and how it ends."""

import asyncio
import os
from pathlib import Path

from bascule.config.state import state_folder
from bascule.store.owners import Member
from support.gateways import ask
from support.kit_http import bearer, line_to
from support.runtime import calls_in, obeying
from support.several import member
from support.waiting import until

ALICE = bearer("alice")


def sockets() -> list[Path]:
    folder = state_folder(os.environ) / "workers"
    return [*folder.iterdir()] if folder.exists() else []


async def test_it_leaves_nothing_behind(tmp_path: Path):
    async with member(obeying(tmp_path / "log")) as one:
        async with line_to(one.port) as line:
            await ask(line, "tools/call", {"name": "work_act"}, Authorization=ALICE)
        owners = one.runtime.owners
        assert len(sockets()) == 1
        await one.stop()
        assert sockets() == []
        await owners.join(Member("next", ""))
        assert await owners.renew(Member("next", "")) == (Member("next", ""),)


async def test_a_call_under_way_at_the_owner_is_answered_through_the_other_while_the_owner_retires(tmp_path: Path):
    log = tmp_path / "log"
    async with member(obeying(log)) as one, member(obeying(log)) as two:
        async with line_to(one.port) as line:
            await ask(line, "tools/call", {"name": "work_act"}, Authorization=ALICE)
        async with line_to(two.port) as line:
            call = {"name": "work_act", "arguments": {"sleep": 1}}
            asking = asyncio.ensure_future(ask(line, "tools/call", call, Authorization=ALICE))
            await until(lambda: len(calls_in(log)) == 2)
            one.orders.retire()
            answer = await asking
        assert answer.text == '{"sleep": 1}'
        await one.serving
    assert len(calls_in(log)) == 2
