"""Gateways that ask each other on their own account."""

import asyncio
import time
from pathlib import Path

import aiohttp
import pytest

from bascule import Runtime
from bascule.core.principal import Principal
from bascule.gateway.cluster.forward_token import Passes
from bascule.gateway.cluster.peers import GATEWAY, LABEL, PATH, Neighbours, Silent
from bascule.store.owners import Member
from support.runtime import obeying
from support.several import a_url, member
from support.waiting import fail_after, until


async def echo(question: bytes) -> bytes:
    if question == b"wrong":
        raise ValueError(question)
    if question == b"slow":
        await asyncio.Event().wait()
    return b'"' + question + b'"'


async def id_of(runtime: Runtime) -> str:
    """Of the only member of its store."""
    await runtime.owners.join(Member("visitor", ""))
    alive = await runtime.owners.renew(Member("visitor", "")) or ()
    await runtime.owners.leave("visitor")
    return next(each.id for each in alive if each.id != "visitor")


async def test_one_asks_the_other_and_waits_no_longer_than_it_wants(tmp_path: Path):
    there: list[Neighbours] = []
    furnish = lambda _, neighbours: there.append(neighbours)  # noqa: E731
    async with (
        fail_after(60),
        member(obeying(tmp_path / "one"), folder=tmp_path, furnish=furnish),
        member(obeying(tmp_path / "two"), folder=tmp_path, furnish=furnish) as second,
    ):
        one, two = there
        await until(lambda: len(one.others()) == 1)
        (other,) = one.others()
        with pytest.raises(Silent, match="404"):
            await one.ask(other, b"hello", 10.0)
        two.answer = echo
        assert await one.ask(other, b"hello", 10.0) == b'"hello"'
        with pytest.raises(Silent, match="400"):
            await one.ask(other, b"wrong", 10.0)
        with pytest.raises(Silent, match="too long"):
            await one.ask(other, b"slow", 0.05)
        await second.stop()
        with pytest.raises(Silent):
            await one.ask(other, b"hello", 10.0)
        with pytest.raises(Silent):
            await one.ask(Member("nobody", "elsewhere - /none"), b"hello", 10.0)


async def test_no_pass_of_a_client_opens_it_and_none_of_theirs_is_a_clients(tmp_path: Path):
    there: list[Neighbours] = []
    url = a_url()
    async with fail_after(60), member(obeying(tmp_path / "log"), url=url, furnish=lambda _, n: there.append(n)) as one:
        there[0].answer = echo
        secret = await one.runtime.owners.secret()
        me = await id_of(one.runtime)
        theirs, clients = Passes(secret, time.time, LABEL), Passes(secret, time.time)
        good = theirs.write(GATEWAY, me)
        async with aiohttp.ClientSession() as http:

            async def status(path: str, shown: str) -> int:
                async with http.post(f"{url}{path}", data=b"hello", headers={"bascule-pass": shown}) as answer:
                    return answer.status

            assert await status(PATH, good) == 200
            for bad in (good, "", clients.write(Principal("alice", "s-1"), me), clients.write(GATEWAY, me)):
                assert await status(PATH, bad) == 421
            assert await status("/", theirs.write(GATEWAY, me)) == 421
