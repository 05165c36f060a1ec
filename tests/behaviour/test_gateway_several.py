"""Several gateways on one PostgreSQL: what one raises binds all, and each agent session has one owner of its links."""

import asyncio
import random
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from support.certificates import authority
from support.command import bascule
from support.ports import free_port
from support.processes import ended
from support.scenarios import entry
from support.servers import pids, received
from support.waiting import fail_after, until
from support.workers import CUT, Fleet, begun, call, ending, fleet

VAULT = {"raises": {"act": "secret"}, "permissions": {"act": "read"}, "vouched": "secret"}
ROUNDS = 10


def calls(log: Path) -> list[Any]:
    return [each["params"] for each in received(log) if each.get("method") == "tools/call"] if log.exists() else []


def text(answer: tuple[int, Any]) -> str:
    assert ending(*answer) == "ok", answer
    return answer[1]["result"]["content"][0]["text"]


async def server_of(http: aiohttp.ClientSession, url: str, tool: str = "work_act", **more: Any) -> int:
    """The process that answers a call."""
    return int(text(await call(http, url, tool, {"pid": 1}, **more)))


def one_machine(folder: Path) -> Path:
    """Two gateways of a test share the key of levels, as two machines on one database must."""
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.long
@pytest.mark.requirement("SCL-2")
async def test_a_raise_at_one_gateway_binds_the_other_from_the_moment_it_returns(tmp_path: Path, database: str):
    """Every call is numbered: none that was begun after the raise had returned may ever reach the open lane."""
    log, chance = tmp_path / "log", random.Random(7)
    servers = {"work": entry("obeying", log, stateless=True), "vault": entry("obeying", tmp_path / "vault", **VAULT)}
    async with (
        fleet(one_machine(tmp_path / "both"), servers, workers=1, store=database) as one,
        other_gateway(one, servers, database) as two,
        aiohttp.ClientSession() as http,
    ):
        for number in range(ROUNDS):
            session, late = f"s-{number}", f"late-{number}"
            for each in (one, two):
                await server_of(http, each.url, session=session)
            racing = [
                asyncio.ensure_future(call(http, (one, two)[place % 2].url, "work_act", {"n": place}, session=session))
                for place in range(10)
            ]
            await asyncio.sleep(chance.random() * 0.01)
            raiser, other = chance.sample([one, two], 2)
            text(await call(http, raiser.url, "vault_act", session=session))
            after = await asyncio.gather(
                *(
                    call(http, each.url, "work_act", {"mark": late}, session=session)
                    for each in (other, raiser, other, other)
                )
            )
            assert {ending(*answer) for answer in after} == {"denied"}
            assert {ending(*answer) for answer in await asyncio.gather(*racing)} <= {"ok", "denied", "connection_error"}
            assert late not in log.read_text()


def other_gateway(first: Fleet, servers: dict[str, Any], database: str) -> Any:
    """On the same machine, by its own config: it has the same state folder, and so the same keys."""
    folder = first.path.parent
    again = folder / "again"
    again.mkdir()
    (again / "state").symlink_to(folder / "state")
    return fleet(again, servers, workers=1, store=database)


@pytest.mark.long
@pytest.mark.requirement("SCL-3")
async def test_a_stateful_server_has_one_process_for_a_principal_and_a_stateless_one_is_asked_from_anywhere(
    tmp_path: Path, database: str
):
    servers = {
        "work": entry("obeying", tmp_path / "log"),
        "free": entry("obeying", tmp_path / "free", stateless=True),
    }
    async with fleet(tmp_path / "one", servers, workers=3, store=database) as gateway:
        stateful, stateless = set[int](), set[int]()
        # Each on a connection of its own, which any of the workers may take.
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as http, fail_after(60, "calls by several workers"):
            while len(stateless) < 2:
                stateful |= set(await asyncio.gather(*(server_of(http, gateway.url) for _ in range(8))))
                stateless |= set(await asyncio.gather(*(server_of(http, gateway.url, "free_act") for _ in range(8))))
        assert len(stateful) == 1
        assert len(pids(tmp_path / "log")) == 1


def within(folder: Path, scheme: str) -> list[str]:
    """The words by which a gateway is told where others reach it, and how it is spoken to there."""
    url = f"{scheme}://localhost:{free_port()}"
    if scheme == "http":
        return ["--internal-url", url]
    ours = authority(folder)
    pair = ours.pair()
    files = {"cert": pair, "key": pair.with_suffix(".key"), "ca": ours.file}
    return [
        "--internal-url",
        url,
        *(word for name, file in files.items() for word in (f"--internal-{name}", str(file))),
    ]


@pytest.mark.long
@pytest.mark.requirement("SCL-3")
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_gateways_on_two_machines_forward_to_the_owner(tmp_path: Path, database: str, scheme: str):
    servers = {"work": entry("obeying", tmp_path / "log")}
    words, elsewhere = within(tmp_path, scheme), f"{scheme}://localhost:{free_port()}"
    async with fleet(tmp_path / "one", servers, *words, store=database) as one:
        # Another machine has a state folder of its own, into which the key was copied.
        keys = tmp_path / "two" / "state" / "keys"
        keys.mkdir(parents=True, mode=0o700)
        (keys / "levels.key").write_bytes((tmp_path / "one" / "state" / "keys" / "levels.key").read_bytes())
        (keys / "levels.key").chmod(0o600)
        keys.chmod(0o700)
        async with (
            fleet(tmp_path / "two", servers, "--internal-url", elsewhere, *words[2:], store=database) as two,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http,
        ):
            told = {await server_of(http, each.url) for each in (one, two) * 4}
            assert len(told) == 1
            old = await begun(http, one.url)
            assert await server_of(http, two.url, new=False, **old) in told


@pytest.mark.long
@pytest.mark.requirement("SCL-3")
async def test_what_an_owner_had_is_served_elsewhere_once_it_is_gone_and_no_call_is_made_twice(
    tmp_path: Path, database: str
):
    servers = {"work": entry("obeying", tmp_path / "log")}
    async with (
        fleet(tmp_path / "one", servers, workers=2, store=database) as gateway,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as http,
    ):
        first = await server_of(http, gateway.url)
        under_way = [
            asyncio.ensure_future(call(http, gateway.url, "work_act", {"silent": True, "mark": f"m-{number}"}))
            for number in range(8)
        ]
        await until(lambda: len(calls(tmp_path / "log")) == 9)
        owner = next(each for each in gateway.workers() if first in {kin.pid for kin in each.children(recursive=True)})
        owner.send_signal(signal.SIGKILL)
        async with fail_after(20, "the end of what was under way"):
            ends = await asyncio.gather(*under_way, return_exceptions=True)
            await ended(first)
        for end in ends:
            # Those that came to the owner itself were cut with it; for all others the answer says what is known.
            assert isinstance(end, CUT) or ending(*end) == "connection_error", end  # type: ignore[misc]
            if not isinstance(end, BaseException):
                assert end[1]["result"]["_meta"]["dev.bascule/failure"]["retriable"] is False
        assert await server_of(http, gateway.url) != first
    marks = [(each.get("arguments") or {}).get("mark") for each in calls(tmp_path / "log")]
    assert sorted(filter(None, marks)) == [f"m-{number}" for number in range(8)]


async def test_several_machines_need_a_store_that_all_reach(tmp_path: Path):
    (tmp_path / "bascule.yaml").write_text("mcp_servers: {}")
    ran = await bascule(tmp_path, "serve", "--dev", "--internal-url", "http://127.0.0.1:1")
    assert ran.code == 2
    assert "PostgreSQL" in ran.err


async def test_a_certificate_that_other_gateways_would_not_believe_is_told_before_anything_is_served(tmp_path: Path):
    (tmp_path / "bascule.yaml").write_text("mcp_servers: {}\nstore: postgresql://nobody@127.0.0.1:1/none\n")
    words = within(tmp_path, "https")
    expired = authority(tmp_path).pair(ends=-1)
    words[3:6:2] = [str(expired), str(expired.with_suffix(".key"))]
    ran = await bascule(tmp_path, "serve", "--dev", *words)
    assert ran.code == 2
    for told in ("other gateways would not talk to this one", "has expired", "OpenSSL 10", "--internal-ca"):
        assert told in ran.err
    ran = await bascule(tmp_path, "serve", "--dev", *words[:4])
    assert (ran.code, "--internal-key, --internal-ca" in ran.err) == (2, True)
