"""The door for other gateways: nobody comes in without a pass, and nobody twice with one."""

import time
from pathlib import Path

import aiohttp
import pytest

from bascule.core.principal import Principal
from bascule.gateway.cluster.forward_token import Passes
from bascule.store.owners import Member as Known
from support.gateways import ask
from support.kit_http import bearer, line_to
from support.runtime import calls_in, obeying
from support.several import Member, a_url, member

ALICE = Principal("alice", "s-1")


async def members(gateway: Member) -> dict[str, Known]:
    """Everyone alive, by where they are."""
    visitor = Known("visitor", "")
    await gateway.runtime.owners.join(visitor)
    alive = await gateway.runtime.owners.renew(visitor)
    await gateway.runtime.owners.leave("visitor")
    assert alive is not None
    return {each.address.split(" ")[1]: each for each in alive if each.id != "visitor"}


async def knock(url: str, shown: str | None) -> tuple[int, str | None]:
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work_act","_meta":'
        b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
    )
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "work_act",
        **({} if shown is None else {"bascule-pass": shown}),
    }
    async with aiohttp.ClientSession() as http, http.post(url, data=body, headers=headers) as answer:
        await answer.read()
        return answer.status, answer.headers.get("bascule-moved")


async def test_a_pass_is_good_once_and_nothing_else_is(tmp_path: Path):
    log, url = tmp_path / "log", a_url()
    async with member(obeying(log), url=url) as one:
        me = (await members(one))[url].id
        passes = Passes(await one.runtime.owners.secret(), time.time)
        shown = passes.write(ALICE, me)
        assert await knock(url, shown) == (200, None)
        for bad in (shown, None, "x", bearer("alice"), Passes(b"o" * 32, time.time).write(ALICE, me)):
            assert await knock(url, bad) == (421, "")
        assert await knock(url, passes.write(ALICE, "nobody")) == (421, "")
    assert len(calls_in(log)) == 1


async def test_one_who_is_not_the_owner_does_nothing_and_says_who_is(tmp_path: Path):
    log, here, there = tmp_path / "log", a_url(), a_url()
    async with member(obeying(log), url=here) as one, member(obeying(log), url=there) as two:
        known = await members(one)
        async with line_to(one.port) as line:
            await ask(line, "tools/call", {"name": "work_act"}, Authorization=bearer("alice"))
        passes = Passes(await two.runtime.owners.secret(), time.time)
        assert await knock(there, passes.write(ALICE, known[there].id)) == (421, known[here].id)
    assert len(calls_in(log)) == 1


@pytest.mark.parametrize("apart", [True, False])
async def test_gateways_on_several_machines_reach_each_other_by_their_urls(tmp_path: Path, apart: bool):
    """Whichever worker of a machine takes it, it comes to the one that it is for."""
    log, folders = tmp_path / "log", [tmp_path / "a", tmp_path / ("b" if apart else "a")]
    async with (
        member(obeying(log), folder=folders[0], url=a_url()) as one,
        member(obeying(log), folder=folders[1], url=a_url()) as two,
    ):
        told: set[str] = set()
        for gateway in (one, two, one):
            async with line_to(gateway.port) as line:
                call = {"name": "work_act", "arguments": {"pid": 1}}
                told.add((await ask(line, "tools/call", call, Authorization=bearer("alice"))).text)
    assert len(told) == 1


async def test_what_comes_to_a_neighbour_is_passed_on_once(tmp_path: Path):
    log, url = tmp_path / "log", a_url()
    async with member(obeying(log), url=url) as one, member(obeying(log)) as two:
        known = await members(one)
        async with line_to(two.port) as line:
            await ask(line, "tools/call", {"name": "work_act"}, Authorization=bearer("alice"))
        passes = Passes(await one.runtime.owners.secret(), time.time)
        assert await knock(url, passes.write(ALICE, known["-"].id)) == (200, None)
        assert len(two.events.calls) == 2
