"""How messages are carried: a child process and its surroundings, HTTP and what it says, the last words of the dead."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession
from bascule.config import ServerConfig, StreamableHttpTransport, Timeouts
from bascule.core.outcome import FailureKind, Outcome
from support.command import bascule
from support.contract import answer_over_http
from support.http_servers import Asked, RawServer, error_body, http_reply, raw_server
from support.runtime import TIMEOUTS, at_work, bad, good, obeying, stand_in
from support.scenarios import entry, from_file, scripted, write_yaml

HOSTILE = ["$(touch made)", "; touch made", "`touch made`", "| touch made", "&& touch made", "*", "a b", "'", '"', ""]
"""What a shell would act on."""


@pytest.mark.requirement("TRN-1")
async def test_arguments_reach_a_child_as_they_are_and_no_shell_sees_them(tmp_path: Path):
    path = write_yaml(tmp_path, {"me": entry("mirror", *HOSTILE, cwd=str(tmp_path))})
    async with from_file(path) as session:
        seen = good(await session.call("me_look")).structured

    assert seen["argv"] == HOSTILE
    assert seen["cwd"] == str(tmp_path)
    assert not (tmp_path / "made").exists()


@pytest.mark.requirement("TRN-1")
async def test_a_command_that_needs_a_shell_is_refused_rather_than_given_to_one(tmp_path: Path):
    write_yaml(tmp_path, {"me": {"command": "touch made"}})
    ran = await bascule(tmp_path, "list")

    assert ran.code == 2
    assert "must be the program alone" in ran.err
    assert not (tmp_path / "made").exists()


@pytest.mark.requirement("TRN-1")
async def test_a_child_has_a_process_group_of_its_own():
    async with at_work(stand_in("me", "mirror")) as session:
        seen = good(await session.call("me_look")).structured

    assert seen["group"] == seen["session"]
    assert seen["group"] != os.getpgid(0)


@pytest.mark.requirement("TRN-1")
async def test_every_message_is_one_line_whatever_it_holds(tmp_path: Path):
    log = tmp_path / "log"
    async with at_work(obeying(log)) as session:
        good(await session.call("work_act", {"text": "one\ntwo\r\n\u2028three\u0085"}))

    _, *lines = log.read_bytes().split(b"\n")[:-1]
    messages = [json.loads(line) for line in lines]
    assert {message["jsonrpc"] for message in messages} == {"2.0"}
    assert messages[-1]["params"]["arguments"]["text"] == "one\ntwo\r\n\u2028three\u0085"


@pytest.mark.requirement("TRN-9")
async def test_a_child_gets_what_was_configured_and_a_safe_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "ours alone")
    path = write_yaml(tmp_path, {"me": entry("mirror", env={"TOKEN": "t", "HOME": "/elsewhere"})})
    async with from_file(path) as session:
        seen = good(await session.call("me_look")).structured["env"]

    base = {name: os.environ[name] for name in ("PATH", "LANG", "TERM", "TMPDIR") if name in os.environ}
    assert seen == {**base, "TOKEN": "t", "HOME": "/elsewhere"}


@pytest.mark.requirement("TRN-9")
async def test_what_else_may_pass_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("NAMED", "GROUP_A", "GROUP_B", "OTHER"):
        monkeypatch.setenv(name, name.lower())
    path = write_yaml(tmp_path, {"me": entry("mirror", inherit_env=["NAMED", "GROUP_*"])})
    async with from_file(path) as session:
        seen = good(await session.call("me_look")).structured["env"]

    assert {"NAMED": "named", "GROUP_A": "group_a", "GROUP_B": "group_b"}.items() <= seen.items()
    assert "OTHER" not in seen


@pytest.mark.requirement("TRN-9")
async def test_a_child_gets_no_open_file_of_ours(tmp_path: Path):
    with (tmp_path / "ours").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)
        async with at_work(stand_in("me", "mirror")) as session:
            seen = good(await session.call("me_look")).structured

    assert seen["files"] == [0, 1, 2]


Reply = Callable[[Asked], bytes]


@asynccontextmanager
async def remote(on_call: Reply, **config: Any) -> AsyncGenerator[tuple[AgentSession, RawServer]]:
    """A server behind a URL that answers each call as told."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.message["method"] == "tools/call":
            writer.write(on_call(asked))
        else:
            await answer_over_http(asked, writer)

    async with raw_server(answer) as server:
        transport = StreamableHttpTransport(server.url)
        config = {"timeouts": TIMEOUTS, **config}
        async with at_work(ServerConfig(name="work", transport=transport, **config)) as session:
            yield session, server


async def outcome_of(on_call: Reply) -> Outcome:
    async with remote(on_call) as (session, _):
        return await session.call("work_act", {})


@pytest.mark.requirement("TRN-10")
@pytest.mark.parametrize("status", ["429 Too Many Requests", "502 Bad Gateway", "503 Service Unavailable"])
async def test_a_server_that_is_too_busy_is_unavailable_with_its_status(status: str):
    failure = bad(await outcome_of(lambda _: http_reply(b"later", status, "text/plain")), FailureKind.UNAVAILABLE)

    assert f"HTTP {status}" in failure.message
    assert failure.evidence == f"HTTP {status[:3]}\nlater"
    assert failure.retriable is True


@pytest.mark.requirement("TRN-10")
@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "500 Internal Server Error"])
async def test_any_other_refusal_is_told_with_its_status_too(status: str):
    failure = bad(await outcome_of(lambda _: http_reply(b"<p>no", status, "text/html")), FailureKind.TOOL_ERROR)

    assert f"HTTP {status}" in failure.message
    assert failure.evidence == f"HTTP {status[:3]}\n<p>no"


@pytest.mark.requirement("TRN-10")
async def test_a_wish_to_know_who_we_are_is_told_with_its_challenge():
    challenge = 'Bearer realm="tea", scope="drink"'
    outcome = await outcome_of(lambda _: http_reply(b"", "401 Unauthorized", WWW_Authenticate=challenge))
    failure = bad(outcome, FailureKind.UNAVAILABLE)

    assert failure.code == "BSC-406"
    assert failure.evidence == f"HTTP 401, WWW-Authenticate: {challenge}"
    assert failure.fix == "run `bascule login work`"


@pytest.mark.requirement("TRN-10")
async def test_an_error_of_the_protocol_arrives_whole_whatever_the_status():
    outcome = await outcome_of(
        lambda asked: http_reply(error_body(asked.id, -32099, "no tea", {"left": 0}), "400 Bad Request")
    )
    failure = bad(outcome, FailureKind.TOOL_ERROR)

    assert (failure.message, failure.tool_code, failure.cause) == ("no tea", -32099, {"left": 0})


@pytest.mark.requirement("TRN-10")
async def test_a_page_that_is_no_reply_is_told_apart_from_an_error():
    failure = bad(await outcome_of(lambda _: http_reply(b"<p>hello", kind="text/html")), FailureKind.PROTOCOL_ERROR)

    assert failure.evidence == "HTTP 200, Content-Type: text/html"


@pytest.mark.requirement("TRN-10")
async def test_nobody_listening_is_a_connection_error_that_says_where():
    async with raw_server(answer_over_http) as gone:
        url = gone.url
    server = ServerConfig(name="work", transport=StreamableHttpTransport(url), timeouts=TIMEOUTS)
    async with at_work(server) as session:
        failure = bad(await session.call("work_act", {}), FailureKind.CONNECTION_ERROR)

    assert url in failure.message
    assert "ClientConnectorError" in failure.evidence
    assert failure.fix


@pytest.mark.requirement("TRN-12")
async def test_a_failed_start_shows_what_the_server_said_last(tmp_path: Path):
    long = "\n".join(f"line {number}" for number in range(5000))
    path = write_yaml(tmp_path, {"dies": entry("failing", 3, f"{long}\nno database at /data/db")})
    async with from_file(path) as session:
        (report,) = await session.connect()

    assert report.state == "failed"
    assert report.error is not None
    assert "exited with code 3" in report.error.message
    tail = report.error.evidence.split("\n")
    assert tail[-1] == "no database at /data/db"
    assert tail[-2] == "line 4999"
    assert len(tail) <= 20


@pytest.mark.requirement("TRN-12")
async def test_a_start_that_never_ends_shows_it_too():
    server = stand_in("slow", "mute", "waiting for the licence server", timeouts=Timeouts(connect=0.5, close=1))
    async with at_work(server) as session:
        (report,) = await session.connect()

    assert report.error is not None
    assert "did not answer within 0.5 s" in report.error.message
    assert "waiting for the licence server" in report.error.evidence


@pytest.mark.requirement("TRN-12")
async def test_a_death_while_its_tools_are_listed_shows_it_too(tmp_path: Path):
    server = scripted(tmp_path, {"tools/list": [{"stderr": "out of memory\n", "exit": 9}]})
    async with at_work(server) as session:
        (report,) = await session.connect()

    assert report.error is not None
    assert "exited with code 9" in report.error.message
    assert report.error.evidence == "out of memory"


@pytest.mark.requirement("TRN-12")
async def test_a_server_that_talks_without_end_on_stderr_still_answers(tmp_path: Path):
    loud = {"stderr": "chatter " * 250_000, "result": {"content": [{"type": "text", "text": "done"}]}}
    async with at_work(scripted(tmp_path, {"tools/call": [loud]})) as session:
        outcomes = [await session.call("work_act") for _ in range(3)]

    assert [good(outcome).text for outcome in outcomes] == ["done"] * 3


@pytest.mark.requirement("TRN-10")
async def test_when_to_come_back_arrives_with_the_failure():
    outcome = await outcome_of(lambda _: http_reply(b"later", "429 Too Many Requests", "text/plain", Retry_After="7"))
    failure = bad(outcome, FailureKind.UNAVAILABLE)

    assert "Retry-After: 7" in failure.evidence


@pytest.mark.requirement("TRN-10")
async def test_an_error_of_the_protocol_keeps_the_status_it_came_with():
    outcome = await outcome_of(
        lambda asked: http_reply(error_body(asked.id, -32050, "busy"), "503 Service Unavailable", Retry_After="7")
    )
    failure = bad(outcome, FailureKind.UNAVAILABLE)

    assert failure.evidence == "HTTP 503, Retry-After: 7"
    assert (failure.status, failure.retry_after, failure.tool_code) == (503, "7", -32050)
