"""Connections as a user meets them: when they open, what they wait for, how they stand, how they end."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, Outcome
from bascule.config import ServerConfig, StreamableHttpTransport, Timeouts
from bascule.core.errors import ConnectFailed
from bascule.core.events import LinkChanged
from bascule.core.outcome import FailureKind
from support.contract import answer_over_http
from support.http_servers import Asked, http_reply, raw_server
from support.nasty import nasties
from support.runtime import Arrived, Events, at_work, bad, good, obeying, running, stand_in
from support.scenarios import entry, from_file, listing, log_of, scripted, write_yaml
from support.servers import methods, pids
from support.survivors import survivors
from support.waiting import fail_after

QUICK = Timeouts(connect=15, probe=0.3, list=10, call=10, close=1)
"""A short probe, for servers that stay silent when they are probed."""


class Watch(Events):
    """Events, and a way to wait for a link's state."""

    def __init__(self) -> None:
        super().__init__()
        self._more = asyncio.Event()

    def append(self, event: Any) -> None:
        super().append(event)
        self._more.set()

    def states(self, server: str) -> list[str]:
        return [event.state for event in self if isinstance(event, LinkChanged) and event.server == server]

    async def until(self, server: str, state: str) -> None:
        async with fail_after(10, f"{server} to be {state}"):
            while state not in self.states(server):
                self._more.clear()
                await self._more.wait()


@pytest.mark.requirement("LNK-1")
async def test_a_server_is_started_when_it_is_first_needed_and_no_other_with_it(tmp_path: Path):
    one, other = tmp_path / "one", tmp_path / "other"
    async with at_work(obeying(one, name="one"), obeying(other, name="other")) as session:
        assert [report.state for report in session.servers()] == ["configured", "configured"]
        assert not one.exists()
        good(await session.call("one_act"))
        assert one.exists()
        assert not other.exists()
        await session.connect()
        assert other.exists()
        assert len(pids(one)) == 1


@pytest.mark.requirement("LNK-1")
async def test_a_bad_server_neither_delays_nor_removes_anothers_tools(tmp_path: Path):
    servers: dict[str, Any] = {f"hangs{number}": entry("mute", "waiting") for number in range(6)}
    servers |= {"missing": {"command": "no-such-command"}, "dies": entry("failing", 1, "no"), "good": entry("echo")}
    path = write_yaml(tmp_path, servers, links={"starting": 1})
    async with from_file(path) as session:
        async for report in session.connecting():
            assert not report.name.startswith("hangs")
            if report.name == "good":
                break
        assert good(await session.call("good_echo", {"message": "hi"})).text == "hi"
        assert {report.state for report in session.servers() if report.name.startswith("hangs")} == {"connecting"}


@pytest.mark.requirement("LNK-1")
async def test_a_required_server_that_fails_fails_the_start_and_says_why(tmp_path: Path):
    servers = {"good": entry("echo"), "dies": entry("failing", 1, "no database", required=True)}
    with pytest.raises(ConnectFailed, match="required server 'dies'") as caught:
        async with from_file(write_yaml(tmp_path, servers)):
            pass

    assert "no database" in caught.value.evidence


@pytest.mark.requirement("LNK-2")
async def test_a_link_can_be_closed_while_it_opens_and_twice():
    events = Watch()
    async with at_work(stand_in("slow", "mute", "waiting"), events=events) as session:
        waiting = asyncio.create_task(session.call("slow_any"))
        await events.until("slow", "connecting")
        await asyncio.gather(session.close(), session.close())
        bad(await waiting, FailureKind.CONNECTION_ERROR)
        await session.close()
    assert events.states("slow") == ["connecting", "closed"]


@pytest.mark.requirement("LNK-2")
async def test_a_runtime_can_be_closed_from_several_tasks_and_left_afterwards(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        session = runtime.session("alice", "s-1")
        arrived = Arrived()
        order = {"progress": [1], "silent": True}
        waiting = asyncio.create_task(session.call("work_act", order, on_progress=arrived))
        await arrived.wait()
        await asyncio.gather(*(asyncio.create_task(runtime.close()) for _ in range(3)))
        assert "closed" in bad(await waiting, FailureKind.CONNECTION_ERROR).message


@pytest.mark.requirement("LNK-2")
async def test_whenever_it_is_closed_every_call_ends_and_the_next_one_works(tmp_path: Path, scale: int):
    async def close_after(session: AgentSession, steps: int) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
        await session.close()

    async with at_work(obeying(tmp_path / "log")) as session:
        for steps in range(12 * scale):
            calls = [asyncio.create_task(session.call("work_act", {"n": n})) for n in range(3)]
            closing = [asyncio.create_task(close_after(session, steps * 3 + more)) for more in (0, 1)]
            outcomes: list[Outcome] = await asyncio.gather(*calls)
            await asyncio.gather(*closing)
            for outcome in outcomes:
                assert outcome.ok or bad(outcome, FailureKind.CONNECTION_ERROR)
        assert good(await session.call("work_act"))


OLD, NEW = "2025-11-25", "2026-07-28"


@pytest.mark.requirement("LNK-3")
@pytest.mark.parametrize(
    ("server", "args", "version", "starts"),
    [
        ("new", (), NEW, 0),
        ("new", ("--refusals", 1), NEW, 0),
        ("new", ("--late", "found"), NEW, 0),
        ("old", ("--unknown", "refuse"), OLD, 1),
        ("old", ("--unknown", "ignore"), OLD, 1),
        ("old", ("--unknown", "die"), OLD, 2),
        ("old", ("--unknown", "refuse", "--version", "2024-11-05"), "2024-11-05", 1),
    ],
)
async def test_servers_of_both_eras_work_without_a_setting(
    tmp_path: Path, server: str, args: tuple[object, ...], version: str, starts: int
):
    log = tmp_path / "log"
    async with at_work(stand_in("it", server, *args, "--log", log, timeouts=QUICK)) as session:
        (report,) = await session.connect()
        assert (report.state, report.version) == ("ready", version)
        assert good(await session.call("it_echo", {"message": "hi"})).text == "hi"
    assert len(pids(log)) == starts


@pytest.mark.requirement("LNK-3")
async def test_the_answer_is_remembered_so_the_next_link_asks_in_the_old_words_at_once(tmp_path: Path):
    log = tmp_path / "log"
    async with running(stand_in("it", "old", "--unknown", "die", "--log", log, timeouts=QUICK)) as runtime:
        await runtime.session("alice", "s-1").connect()
        before = len(methods(log))
        (report,) = await runtime.session("bob", "s-2").connect()
    assert report.state == "ready"
    assert methods(log)[before] == "initialize"
    assert len(pids(log)) == 3


@pytest.mark.requirement("LNK-3")
async def test_a_server_that_dies_of_both_ways_is_tried_once_each(tmp_path: Path):
    death = [{"exit": 1}]
    server = scripted(tmp_path, {"server/discover": death, "initialize": death})
    async with at_work(server) as session:
        (report,) = await session.connect()
    assert report.state == "failed"
    assert methods(log_of(tmp_path)) == ["server/discover", "initialize"]


@pytest.mark.requirement("LNK-4")
def test_every_phase_has_a_finite_default_and_a_setting():
    defaults = Timeouts()

    assert (defaults.connect, defaults.reconnect, defaults.probe) == (60, 15, 3)
    assert (defaults.list, defaults.call, defaults.close) == (15, 30, 5)


SILENCE: list[dict[str, Any]] = [{}]
NO_ANSWER = {"server/discover": SILENCE, "initialize": SILENCE}


@pytest.mark.requirement("LNK-4")
@pytest.mark.parametrize(
    ("scenario", "limits", "kind", "told"),
    [
        (NO_ANSWER, {"connect": 0.6, "probe": 0.1}, FailureKind.CONNECTION_ERROR, "did not answer within 0.6 s"),
        (
            {"tools/list": SILENCE},
            {"list": 0.4},
            FailureKind.CONNECTION_ERROR,
            "listing the tools took longer than 0.4 s",
        ),
        ({"tools/call": SILENCE}, {"call": 0.3}, FailureKind.TIMEOUT, "no reply to tools/call within 0.3 s"),
    ],
    ids=["connect", "list", "call"],
)
async def test_a_timeout_names_its_phase_and_the_setting_that_made_it(
    tmp_path: Path, scenario: dict[str, Any], limits: dict[str, float], kind: FailureKind, told: str
):
    (tmp_path / "scenario").write_text(json.dumps(scenario))
    described = entry("scripted", tmp_path / "scenario", tmp_path / "log", timeouts={"close": 1, **limits})
    async with from_file(write_yaml(tmp_path, {"work": described})) as session:
        failure = bad(await session.call("work_act"), kind)

    assert told in failure.message
    assert f"`timeouts.{next(iter(limits))}`" in failure.fix


@pytest.mark.requirement("LNK-4")
async def test_a_single_call_can_have_a_limit_of_its_own(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session:
        failure = bad(await session.call("work_act", {"silent": True}, timeout=0.2), FailureKind.TIMEOUT)

    assert "0.2 s" in failure.message


@pytest.mark.requirement("LNK-4")
async def test_a_second_start_gets_less_time_than_the_first(tmp_path: Path):
    limits = Timeouts(connect=15, reconnect=0.4, probe=0.1, close=1)
    async with at_work(scripted(tmp_path, {}, NO_ANSWER, timeouts=limits)) as session:
        good(await session.call("work_act"))
        await session.close()
        failure = bad(await session.call("work_act"), FailureKind.CONNECTION_ERROR)

    assert "did not answer within 0.4 s" in failure.message


@pytest.mark.requirement("LNK-4")
async def test_waiting_for_a_link_does_not_eat_the_calls_time(tmp_path: Path):
    limits = Timeouts(connect=15, probe=0.5, close=1)
    slow = stand_in("it", "old", "--unknown", "ignore", timeouts=limits)
    async with at_work(slow) as session:
        assert good(await session.call("it_echo", {"message": "hi"}, timeout=0.4)).text == "hi"


@pytest.mark.requirement("LNK-9")
async def test_a_server_goes_from_configured_to_ready_to_closed(tmp_path: Path):
    events = Watch()
    async with at_work(obeying(tmp_path / "log"), events=events) as session:
        assert session.servers()[0].state == "configured"
        await session.connect()
        assert session.servers()[0].state == "ready"
        await session.close()
        assert session.servers()[0].state == "closed"
    assert events.states("work") == ["connecting", "ready", "closed"]


@pytest.mark.requirement("LNK-9")
async def test_it_is_not_ready_before_its_tools_are_listed(tmp_path: Path):
    events = Watch()
    server = scripted(tmp_path, {"tools/list": SILENCE}, timeouts=Timeouts(list=0.5, close=1))
    async with at_work(server, events=events) as session:
        (report,) = await session.connect()
    assert report.state == "failed"
    assert "listing the tools" in report.reason
    assert events.states("work") == ["connecting", "failed"]


@pytest.mark.requirement("LNK-9")
async def test_one_bad_tool_makes_a_server_degraded_and_says_which(tmp_path: Path):
    tools = [{"name": "good", "inputSchema": {"type": "object"}}, {"description": "has no name"}]
    async with at_work(scripted(tmp_path, {"tools/list": [listing(*tools)]})) as session:
        (report,) = await session.connect()
        assert good(await session.call("work_good"))
    assert (report.state, report.tools) == ("degraded", 1)
    assert "it has no name" in report.reason


@pytest.mark.requirement("LNK-9")
@pytest.mark.parametrize(
    "answer",
    [{"error": {"code": -32603, "message": "the index is gone"}}, listing("the index is gone")],
    ids=["refused", "nothing usable"],
)
async def test_no_tools_because_of_an_error_is_failed(tmp_path: Path, answer: dict[str, Any]):
    async with at_work(scripted(tmp_path, {"tools/list": [answer]})) as session:
        (report,) = await session.connect()

    assert (report.state, report.tools) == ("failed", 0)
    assert "the index is gone" in report.reason


@pytest.mark.requirement("LNK-9")
async def test_no_tools_without_an_error_is_ready(tmp_path: Path):
    async with at_work(scripted(tmp_path, {"tools/list": [listing()]})) as session:
        (report,) = await session.connect()

    assert (report.state, report.tools, report.error) == ("ready", 0, None)


@pytest.mark.requirement("LNK-9")
async def test_a_server_that_waits_for_a_login_is_told_apart_and_blocks_nobody(tmp_path: Path):
    async def refuse(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(b"", "401 Unauthorized", WWW_Authenticate="Bearer"))

    async with raw_server(refuse) as locked, raw_server(answer_over_http) as open_to_all:
        servers = [
            ServerConfig(name=name, transport=StreamableHttpTransport(server.url))
            for name, server in (("locked", locked), ("public", open_to_all))
        ]
        async with at_work(*servers) as session:
            reports = {report.name: report for report in await session.connect()}
    assert reports["locked"].state == "needs-auth"
    assert "HTTP 401" in reports["locked"].reason
    assert reports["public"].state == "ready"


@pytest.mark.requirement("LNK-9")
async def test_a_server_that_died_is_failed_until_someone_asks_again(tmp_path: Path):
    events = Watch()
    async with at_work(scripted(tmp_path, {"tools/call": [{"exit": 7}]}, {}), events=events) as session:
        lost = bad(await session.call("work_act"), FailureKind.CONNECTION_ERROR)
        await events.until("work", "failed")
        (report,) = session.servers()
        assert "exited with code 7" in lost.message
        assert (report.state, report.reason) == ("failed", "the server exited with code 7")
        assert good(await session.call("work_act"))
        assert session.servers()[0].state == "ready"


@pytest.mark.requirement("LNK-10")
@pytest.mark.parametrize("kind", ["double-fork", "ignores-term"])
async def test_closing_leaves_nothing_of_what_a_server_has_started(tmp_path: Path, kind: str):
    with nasties(tmp_path, kinds=(kind,)) as nasty:
        async with at_work(*nasty.configs(QUICK).values()) as session:
            await session.connect()
            await nasty.all_up()

        assert await survivors(nasty.marker) == []


@pytest.mark.requirement("LNK-4")
async def test_a_limit_that_is_no_number_of_seconds_is_refused(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session:
        bad(await session.call("work_act", {"silent": True}, timeout=float("nan")), FailureKind.INVALID_ARGUMENTS)
