"""One gateway of several: how it begins and how it ends."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from bascule.config.state_dir import state_folder
from bascule.gateway.cluster.tls import InnerTls, TlsFiles, tls_for
from bascule.store.owners import Member
from support.certificates import Authority, authority
from support.gateways import ask
from support.kit_http import bearer, line_to
from support.ports import free_port
from support.runtime import calls_in, obeying
from support.several import a_url, member
from support.waiting import fail_after, until

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


# By TLS


def of(folder: Path) -> Authority:
    folder.mkdir()
    return authority(folder)


def place(of: Authority) -> tuple[str, InnerTls]:
    """An address, and what is spoken there."""
    url, pair = f"https://localhost:{free_port()}", of.pair()
    made = tls_for(url, TlsFiles(str(pair), str(pair.with_suffix(".key")), str(of.file)))
    assert made is not None
    return url, made


async def answered(port: int) -> Any:
    async with line_to(port) as line, fail_after(30, "an answer"):
        call = {"name": "work_act", "arguments": {"pid": 1}}
        return await ask(line, "tools/call", call, Authorization=ALICE)


async def test_gateways_that_one_authority_has_signed_for_reach_each_other_by_tls(tmp_path: Path):
    log, ours = tmp_path / "log", of(tmp_path / "ours")
    (here, mine), (there, theirs) = place(ours), place(ours)
    async with (
        member(obeying(log), folder=tmp_path / "a", url=here, tls=mine) as one,
        member(obeying(log), folder=tmp_path / "b", url=there, tls=theirs) as two,
    ):
        told = {(await answered(each.port)).text for each in (one, two, one, two)}
    assert len(told) == 1
    assert len(calls_in(log)) == 4


@pytest.mark.parametrize(
    "stranger", ["whose certificate another authority has signed", "who speaks no TLS", "who believes everybody"]
)
@pytest.mark.long
async def test_one_that_cannot_be_believed_is_not_talked_to(
    tmp_path: Path, stranger: str, caplog: pytest.LogCaptureFixture
):
    log = tmp_path / "log"
    url, tls = place(of(tmp_path / "ours"))
    there, theirs = (a_url(), None) if "no TLS" in stranger else place(of(tmp_path / "other"))
    if theirs is not None and "everybody" in stranger:
        theirs.asking.load_verify_locations(tmp_path / "ours" / "authority.pem")
    async with (
        member(obeying(log), folder=tmp_path / "a", url=there, tls=theirs) as owner,
        member(obeying(log), folder=tmp_path / "b", url=url, tls=tls) as ours,
    ):
        assert (await answered(owner.port)).status == 200
        for _ in range(2):
            assert (await answered(ours.port)).status == 503
        said = [record.getMessage() for record in caplog.records if "is not talked to" in record.getMessage()]
        assert len(said) == 1
        assert there in said[0]
        assert "--internal-ca" in said[0]
        # The other way round it is the same: what one is asked by a stranger is not heard.
        async with line_to(ours.port) as line:
            await ask(line, "tools/call", {"name": "work_act"}, Authorization=bearer("bob"))
        async with line_to(owner.port) as line, fail_after(30, "an answer"):
            answer = await ask(line, "tools/call", {"name": "work_act"}, Authorization=bearer("bob"))
        assert answer.status == 503 or answer.message["result"]["isError"]
    assert len(calls_in(log)) == 2


async def test_whoever_speaks_plain_http_at_the_door_for_tls_gets_nothing(tmp_path: Path):
    url, tls = place(of(tmp_path / "ours"))
    async with member(obeying(tmp_path / "log"), url=url, tls=tls) as one, fail_after(20, "the end of a connection"):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        try:
            writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            said = await reader.read()
        except ConnectionError:
            said = b""
        finally:
            writer.transport.abort()
        assert b"HTTP" not in said
        assert (await answered(one.port)).status == 200
