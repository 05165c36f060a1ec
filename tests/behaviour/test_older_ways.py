"""Servers that speak as was usual before: HTTP+SSE behind a URL, messages behind a `Content-Length` on stdout."""

import json
from pathlib import Path

import pytest

from bascule.config import ServerConfig, StreamableHttpTransport, Timeouts
from bascule.core.outcome import FailureKind
from support.command import bascule
from support.http_servers import http_reply
from support.runtime import TIMEOUTS, at_work, bad, good, stand_in
from support.sse_servers import working_peer

LISTED = {"transport": "sse", "state": "ready", "era": "2024-11-05"}


@pytest.mark.requirement("TRN-2")
async def test_a_url_is_enough_for_a_server_that_speaks_only_http_with_sse(tmp_path: Path):
    async with working_peer() as peer:
        (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"old": {"url": peer.url}}}))
        listed = await bascule(tmp_path, "list", "--json")
        called = await bascule(tmp_path, "call", "old_act", "--json")

    assert LISTED.items() <= listed.json["servers"][0].items()
    assert called.json["text"] == "done"


@pytest.mark.requirement("TRN-2")
async def test_streamable_http_is_tried_first_in_either_era_and_then_the_event_stream():
    async with working_peer() as peer, at_work(ServerConfig("old", StreamableHttpTransport(peer.url))) as session:
        good(await session.call("old_act"))

    tried = [(asked.method, asked.message["method"] if asked.body else "") for asked in peer.server.asked]
    assert tried[:3] == [("POST", "server/discover"), ("POST", "initialize"), ("GET", "")]


@pytest.mark.requirement("TRN-2")
@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_a_wish_for_credentials_decides_no_era_and_no_way(status: str):
    async with working_peer() as peer:
        peer.turned_away = http_reply(b"", status)
        async with at_work(ServerConfig("old", StreamableHttpTransport(peer.url))) as session:
            (report,) = await session.connect()

    assert report.state == "needs-auth"
    assert [asked.method for asked in peer.server.asked] == ["POST"]


@pytest.mark.requirement("TRN-2")
async def test_a_way_that_the_operator_named_is_the_only_one_taken():
    async with working_peer() as peer:
        transport = StreamableHttpTransport(peer.url, choice="http")
        async with at_work(ServerConfig("old", transport)) as session:
            failure = bad(await session.call("old_act"), FailureKind.CONNECTION_ERROR)

    assert "HTTP 404" in failure.message
    assert {asked.method for asked in peer.server.asked} == {"POST"}


@pytest.mark.requirement("TRN-2")
async def test_a_url_at_which_nobody_speaks_mcp_is_told_with_both_attempts():
    async with working_peer() as peer:
        peer.opening = http_reply(b"no such page", "404 Not Found", "text/html")
        async with at_work(ServerConfig("old", StreamableHttpTransport(peer.url))) as session:
            (report,) = await session.connect()

    assert report.error is not None
    assert "neither streamable HTTP nor HTTP+SSE" in report.error.message
    assert "streamable HTTP: " in report.error.evidence
    assert "HTTP+SSE: " in report.error.evidence
    assert "/mcp" in report.error.fix
    assert "/sse" in report.error.fix


@pytest.mark.requirement("TRN-8")
async def test_a_server_that_answers_behind_a_length_works_and_is_sent_lines(tmp_path: Path):
    log = tmp_path / "log"
    async with at_work(stand_in("old", "lengths", log, "both", timeouts=TIMEOUTS)) as session:
        assert good(await session.call("old_echo", {"message": "ä\n" * 1000})).text == "ä\n" * 1000

    assert {line.split()[0] for line in log.read_text().splitlines()} == {"line"}


@pytest.mark.requirement("TRN-8")
async def test_a_server_that_asks_for_lengths_by_complaining_in_them_gets_them(tmp_path: Path):
    log = tmp_path / "log"
    limits = Timeouts(connect=15, probe=0.3, close=1)
    async with at_work(stand_in("old", "lengths", log, "lengths", timeouts=limits)) as session:
        assert good(await session.call("old_echo", {"message": "hi"})).text == "hi"

    assert log.read_text().splitlines()[0] == "length initialize"


@pytest.mark.requirement("TRN-8")
async def test_a_server_that_is_silent_on_lines_is_never_sent_lengths_and_told_of_plainly(tmp_path: Path):
    log = tmp_path / "log"
    limits = Timeouts(connect=0.6, probe=0.2, close=1)
    async with at_work(stand_in("old", "lengths", log, "silent", timeouts=limits)) as session:
        (report,) = await session.connect()

    assert report.error is not None
    assert "did not answer" in report.error.message
    assert "Content-Length" in report.error.cause
    assert not log.exists() or log.read_text() == ""
