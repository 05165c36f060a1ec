"""A server that changes while it runs: its tools are followed, and what it has removed says so."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from bascule import AgentSession
from bascule.config import ServerConfig, StreamableHttpTransport, Timeouts
from bascule.core.events import CatalogChanged
from bascule.core.outcome import FailureKind
from support.http_servers import asgi_server
from support.live import Era, Living, until
from support.offers import capable
from support.ports import free_port
from support.runtime import Events, a_tool, at_work, bad, good, running
from support.scenarios import listing, log_of, scripted
from support.servers import methods, pids

ERAS: tuple[Era, ...] = ("old", "new")
both_eras = pytest.mark.parametrize("era", ERAS)
LASTING = 3_600_000
"""Milliseconds for which a server says that its list holds, so that nothing but its word makes us look."""


async def shown(session: AgentSession) -> dict[str, str]:
    return {spec.name: spec.description for spec in await session.tools()}


@pytest.mark.requirement("CAT-6")
@both_eras
async def test_new_and_changed_tools_are_there_for_an_agent_session_that_was_open_before(era: Era, events: Events):
    server = Living("read_note", ttl=LASTING)
    async with at_work(server.config(era), events=events) as session:
        assert [*await shown(session)] == ["work_read_note"]
        await server.become(read_note="Reads any note.", write_note="Writes.")
        seen = await until(lambda: shown(session), lambda tools: "work_write_note" in tools)

        assert seen == {"work_read_note": "Reads any note.", "work_write_note": "Writes."}
        assert good(await session.call("work_write_note")).text == "write_note: Writes."

    told = [event for event in events if isinstance(event, CatalogChanged)][-1]
    assert (told.added, told.changed, told.removed) == (("write_note",), ("read_note",), ())


@pytest.mark.requirement("CAT-6")
@both_eras
async def test_a_removed_tool_answers_removed_with_the_nearest_names(era: Era):
    server = Living("read_note", "drop", ttl=LASTING)
    async with at_work(server.config(era)) as session:
        good(await session.call("work_read_note"))
        await server.become("read_notes", "drop")
        await until(lambda: shown(session), lambda tools: "work_read_notes" in tools)
        removed = bad(await session.call("work_read_note"), FailureKind.UNKNOWN_TOOL)
        never = bad(await session.call("work_read_poem"), FailureKind.UNKNOWN_TOOL)

    assert removed.message.startswith("'work_read_note' was removed by its server, work; did you mean work_read_notes")
    assert never.message.startswith("there is no tool 'work_read_poem'; did you mean work_read_notes")
    assert (removed.code, removed.retriable) == (never.code, never.retriable)


@pytest.mark.requirement("CAT-6")
@both_eras
async def test_a_tool_that_comes_back_works_again(era: Era):
    server = Living("one", ttl=LASTING)
    async with at_work(server.config(era)) as session:
        for tools in (("two",), ("one",), ("two",)):
            await session.tools()
            await server.become(*tools)
            await until(lambda: shown(session), lambda seen, tools=tools: [*seen] == [f"work_{tools[0]}"])
            good(await session.call(f"work_{tools[0]}"))
            other = "work_one" if tools == ("two",) else "work_two"
            assert "was removed" in bad(await session.call(other), FailureKind.UNKNOWN_TOOL).message


@pytest.mark.requirement("CAT-6", "POL-1")
@both_eras
async def test_a_hidden_tool_that_is_removed_looks_as_if_it_had_never_been(era: Era):
    server = Living("plain", "hidden", ttl=LASTING)
    async with at_work(server.config(era, block=("hidden",))) as session:
        before = bad(await session.call("work_hidden"), FailureKind.UNKNOWN_TOOL)
        await server.become("plain", "zzzzzzzzzzzzzzzzzzzz")
        await until(lambda: shown(session), lambda tools: len(tools) == 2)
        after = bad(await session.call("work_hidden"), FailureKind.UNKNOWN_TOOL)

    assert before.message == "there is no tool 'work_hidden'; did you mean work_plain?"
    assert after.message == before.message


@pytest.mark.requirement("CAT-6")
@pytest.mark.long
async def test_a_list_that_has_run_out_is_asked_for_at_the_next_look(tmp_path: Path):
    """The server tells of nothing: only its `ttlMs` says how long to believe it."""
    pages = [listing(a_tool("one"), ttlMs=1), listing(a_tool("two"), ttlMs=LASTING)]
    async with at_work(scripted(tmp_path, {"tools/list": pages})) as session:
        await session.tools()
        good(await session.call("work_one"))
        for _ in range(10):
            good(await session.call("work_one"))
        assert methods(log_of(tmp_path)).count("tools/list") == 1
        await until(lambda: shown(session), lambda tools: [*tools] == ["work_two"])
        assert "was removed" in bad(await session.call("work_one"), FailureKind.UNKNOWN_TOOL).message

    assert methods(log_of(tmp_path)).count("tools/list") == 2


@pytest.mark.requirement("CAT-6")
@pytest.mark.long
async def test_a_server_that_fails_to_list_keeps_the_tools_it_had(tmp_path: Path):
    refusing = {"error": {"code": -32603, "message": "the shelf fell down"}}
    pages = [listing(a_tool("act"), ttlMs=1), refusing]
    async with at_work(scripted(tmp_path, {"tools/list": pages})) as session:
        await session.tools()

        async def notes() -> tuple[str, ...]:
            assert [*await shown(session)] == ["work_act"]
            return session.servers()[0].notes

        (note,) = await until(notes, bool)
        good(await session.call("work_act"))

    assert "the shelf fell down" in note


# Servers that are replaced


def sdk(*tools: str) -> MCPServer:
    server = MCPServer("work", log_level="CRITICAL")
    for tool in tools:
        server.add_tool(lambda: "done", name=tool, description="Does as told.")
    return server


@asynccontextmanager
async def at_port(port: int, *tools: str) -> AsyncGenerator[None]:
    listener = socket.create_server(("127.0.0.1", port))
    async with asgi_server(sdk(*tools).streamable_http_app(), listener):
        yield


@pytest.mark.requirement("CAT-6")
@both_eras
async def test_a_remote_server_that_was_updated_has_its_new_tools_and_says_what_it_removed(era: Era):
    port = free_port()
    transport = StreamableHttpTransport(f"http://127.0.0.1:{port}/mcp")
    timeouts = Timeouts(connect=15, probe=10, list=10, call=10, close=1)
    async with at_work(ServerConfig("work", transport, era=era, timeouts=timeouts)) as session:
        async with at_port(port, "read_note", "same"):
            assert [*await shown(session)] == ["work_read_note", "work_same"]
            good(await session.call("work_read_note"))
        async with at_port(port, "read_notes", "same"):
            await until(lambda: shown(session), lambda tools: "work_read_notes" in tools)
            good(await session.call("work_read_notes"))
            good(await session.call("work_same"))
            removed = bad(await session.call("work_read_note"), FailureKind.UNKNOWN_TOOL)

    assert removed.message.startswith("'work_read_note' was removed by its server, work; did you mean work_read_notes")


def died(folder: Path, *pages: Any) -> ServerConfig:
    """A server that dies of each call of `end`, and lists something else in each life."""
    calls = [{"exit": 3}]
    lives = [{"server/discover": [capable()], "tools/list": [page], "tools/call": calls} for page in pages[:-1]]
    return scripted(folder, *lives, {"tools/list": [pages[-1]]})


@pytest.mark.requirement("CAT-6")
async def test_a_child_that_comes_back_as_another_is_listed_before_it_is_used(tmp_path: Path):
    server = died(tmp_path, listing(a_tool("end"), a_tool("old")), listing(a_tool("new")))
    async with at_work(server) as session:
        await session.tools()
        bad(await session.call("work_end"), FailureKind.CONNECTION_ERROR)
        removed = bad(await session.call("work_end"), FailureKind.UNKNOWN_TOOL)
        assert [*await shown(session)] == ["work_new"]
        good(await session.call("work_new"))

    assert "was removed" in removed.message
    assert len(pids(log_of(tmp_path))) == 2
    assert methods(log_of(tmp_path)).count("tools/call") == 2


@pytest.mark.requirement("CAT-6")
async def test_a_change_disturbs_neither_other_servers_nor_other_agent_sessions(tmp_path: Path):
    living, quiet = Living("one", ttl=LASTING), scripted(tmp_path, {}, name="quiet")
    async with running(living.config(), quiet) as runtime:
        alice, bob = runtime.session("alice", "s-1"), runtime.session("bob", "s-2")
        await asyncio.gather(alice.tools(), bob.tools())
        await living.become("two")
        for session in (alice, bob):
            await until(lambda session=session: shown(session), lambda tools: "work_two" in tools)
            assert good(await session.call("quiet_act")).text == "done"

    assert methods(log_of(tmp_path, "quiet")).count("tools/list") == 2
