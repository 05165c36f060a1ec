"""Logging in at remote servers, from nothing to a governed call."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime, ToolFailure, ToolResult
from bascule.config import OAuthSettings, ServerConfig, StreamableHttpTransport
from bascule.core.errors import LoginFailed
from support.command import bascule, configured, started
from support.guarded import guarded
from support.login_server import Browser, Guarded, guarded_server
from support.pages import every_block
from support.runtime import obeying
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("TRN-11")

BACK = "http://127.0.0.1:7/callback"


def remote(guarded: Guarded, **settings: Any) -> ServerConfig:
    return ServerConfig("notes", StreamableHttpTransport(guarded.url), oauth=OAuthSettings(**settings))


@pytest.mark.long
async def test_a_server_that_waits_for_a_login_says_so_and_blocks_nobody(tmp_path: Path):
    async with fail_after(60), guarded_server() as guarded:
        servers = {"notes": remote(guarded), "work": obeying(tmp_path / "log")}
        async with Runtime.from_servers(servers) as runtime:
            session = runtime.session("alice", "s-1")
            tools = await session.tools()
            waiting = await session.call("notes_write", {"text": "a"})
            working = await session.call("work_act", {})
            states = {report.name: report.state for report in session.servers()}

    assert {tool.key.server for tool in tools} == {"work"}
    assert states == {"notes": "needs-auth", "work": "ready"}
    assert isinstance(waiting, ToolFailure)
    assert (waiting.code, waiting.kind, waiting.fix) == ("BSC-406", "unavailable", "run `bascule login notes`")
    assert isinstance(working, ToolResult)


@asynccontextmanager
async def logging_in(**settings: Any) -> AsyncGenerator[tuple[Guarded, Runtime]]:
    """A server behind a login, and a runtime that knows it."""
    async with (
        fail_after(60),
        guarded_server() as guarded,
        Runtime.from_servers({"notes": remote(guarded, **settings)}) as runtime,
    ):
        yield guarded, runtime


@pytest.mark.long
async def test_a_login_leads_from_nothing_to_a_governed_call():
    async with logging_in() as (guarded, runtime):
        session = runtime.session("alice", "s-1")
        report = await session.login("notes", Browser(), BACK)
        outcome = await session.call("notes_write", {"text": "hello"})
        elsewhere = await runtime.session("alice", "s-2").call("notes_write", {"text": "again"})
        stranger = await runtime.session("bob", "s-1").call("notes_write", {"text": "never"})

    assert (report.issuer, report.scope, report.server.tools) == (guarded.login.issuer, "notes", 1)
    assert isinstance(outcome, ToolResult)
    assert isinstance(elsewhere, ToolResult), "a login is a person's, not an agent session's"
    assert isinstance(stranger, ToolFailure)
    assert guarded.notes == ["hello", "again"]


PAGE = [block for block in every_block() if block.page == "login.md"]


@pytest.mark.long
async def test_the_commands_of_its_page_lead_in_and_out_again(tmp_path: Path):
    (shown,) = (block for block in PAGE if block.language == "sh")
    logging_in_, listing, logging_out = [words[1:] for words in shown.commands]
    async with fail_after(60), guarded_server() as guarded:
        configured(tmp_path, notes={"url": guarded.url})
        async with started(tmp_path, *logging_in_) as process:
            assert process.stderr is not None
            while not (line := await process.stderr.readline()).startswith(b"  http"):
                assert line, "no address was printed"
            await Browser().visit(line.decode().strip())
            await process.communicate()
        inside = await bascule(tmp_path, *listing)
        out = await bascule(tmp_path, *logging_out)
        outside = await bascule(tmp_path, *listing)

    assert (process.returncode, inside.code, out.code) == (0, 0, 0)
    assert "notes_write" in inside.out
    assert "BSC-406" in outside.out


async def test_the_headers_that_a_program_prints_as_shown_are_sent(tmp_path: Path):
    (shown,) = (block for block in PAGE if block.language == "json")
    (tmp_path / "printed").write_text(shown.text.replace("…", "t-1"))
    got = list[str]()

    def guard(authorization: str) -> str | None:
        got.append(authorization)
        return None

    async with fail_after(60), guarded(guard=guard) as url:
        configured(tmp_path, notes={"url": url, "headers_command": ["cat", str(tmp_path / "printed")]})
        assert (await bascule(tmp_path, "list")).code == 0
    assert {*got} == {"Bearer t-1"}


@pytest.mark.long
async def test_a_client_that_was_registered_beforehand_is_used():
    async with logging_in(client_id="known-client") as (guarded, runtime):
        report = await runtime.session("alice", "s-1").login("notes", Browser(), BACK)

        assert report.server.state == "ready"
        assert await guarded.login.answered("/reg") == []


@pytest.mark.long
async def test_a_program_may_answer_for_its_users():
    async with fail_after(60), guarded_server() as guarded:
        server = remote(guarded, redirect_uri=BACK)
        async with Runtime.from_servers({"notes": server}, on_login=Browser()) as runtime:
            outcome = await runtime.session("alice", "s-1").call("notes_write", {"text": "hello"})

    assert isinstance(outcome, ToolResult)


@pytest.mark.long
async def test_a_person_who_says_no_is_told_apart():
    async with logging_in() as (_, runtime):
        with pytest.raises(LoginFailed, match="the login was denied"):
            await runtime.session("alice", "s-1").login("notes", Browser(deny=True), BACK)


@pytest.mark.long
async def test_a_spent_token_is_renewed_without_anyone_noticing():
    async with fail_after(60), guarded_server(life=1) as guarded:
        async with Runtime.from_servers({"notes": remote(guarded)}) as runtime:
            session = runtime.session("alice", "s-1")
            await session.login("notes", Browser(), BACK)
            await asyncio.sleep(1.1)  # the shortest life that a token of this login server can have
            outcomes = await asyncio.gather(*(session.call("notes_write", {"text": str(n)}) for n in range(5)))

        assert all(isinstance(outcome, ToolResult) for outcome in outcomes), outcomes
        assert sorted(guarded.notes) == ["0", "1", "2", "3", "4"]
        assert set(await guarded.login.answered(grant="refresh_token")) == {200}


@pytest.mark.long
async def test_logging_out_takes_the_tokens_away_everywhere():
    async with logging_in() as (guarded, runtime):
        session = runtime.session("alice", "s-1")
        await session.login("notes", Browser(), BACK)
        assert await session.logout("notes") is True
        outcome = await session.call("notes_write", {"text": "a"})

        assert isinstance(outcome, ToolFailure)
        assert outcome.code == "BSC-406"
        assert await guarded.login.answered("/token/revocation") == [200, 200]
