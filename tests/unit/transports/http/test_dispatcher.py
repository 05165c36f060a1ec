import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerRefused, ReplyTimeout
from bascule.core.json_types import JsonObject
from bascule.transports.dispatcher import Dispatcher
from bascule.transports.http.dispatcher import HttpDispatcher
from support.http_links import LONG, OLD, ask, ask_new, http_link, new_link, old_link
from support.http_servers import (
    Asked,
    RawServer,
    fastmcp_server,
    http_reply,
    raw_server,
    result_body,
    sdk_server,
    stream_head,
)
from support.waiting import fail_after

HELLO = {"protocolVersion": OLD}


def sdk() -> MCPServer:
    server = MCPServer("sdk")

    @server.tool()
    def echo(message: str) -> str:
        return message

    @server.tool()
    async def count(to: int, ctx: Context) -> int:
        for number in range(to):
            await ctx.report_progress(number + 1, to, f"at {number + 1}")
        return to

    return server


def fast() -> FastMCP:
    server: FastMCP = FastMCP("fast")

    @server.tool
    def echo(message: str) -> str:
        return message

    @server.tool
    async def count(to: int, ctx: FastContext) -> int:
        for number in range(to):
            await ctx.report_progress(number + 1, to, f"at {number + 1}")
        return to

    return server


Serve = Callable[[], contextlib.AbstractAsyncContextManager[str]]
SERVERS: dict[str, Serve] = {
    "sdk": lambda: sdk_server(sdk()),
    "sdk as json": lambda: sdk_server(sdk(), json_response=True),
    "sdk stateless": lambda: sdk_server(sdk(), stateless_http=True),
    "fastmcp": lambda: fastmcp_server(fast()),
    "fastmcp as json": lambda: fastmcp_server(fast(), json_response=True),
}


@contextlib.asynccontextmanager
async def link_to(url: str, era: str) -> AsyncGenerator[tuple[HttpDispatcher, Callable[..., Any]]]:
    """A link, and what makes a call of the era."""

    def call_new(tool: str, arguments: JsonObject, **terms: Any) -> Any:
        return ask_new("tools/call", {"name": tool, "arguments": arguments}, tool, **terms)

    def call_old(tool: str, arguments: JsonObject, **terms: Any) -> Any:
        return ask("tools/call", {"name": tool, "arguments": arguments}, **terms)

    async with (new_link if era == "new" else old_link)(url) as link:
        yield link, call_new if era == "new" else call_old


@pytest.mark.parametrize("serve", SERVERS.values(), ids=SERVERS.keys())
@pytest.mark.parametrize("era", ["old", "new"])
async def test_a_real_server_is_spoken_to_in_either_era(serve: Serve, era: str):
    async with fail_after(LONG * 2), serve() as url, link_to(url, era) as (link, call):
        replies = await asyncio.gather(*(link.send(call("echo", {"message": str(n)})) for n in range(20)))

        assert [reply["content"][0]["text"] for reply in replies] == [str(n) for n in range(20)]
        assert (link.counters.garbage, link.counters.strays) == (0, 0)


@pytest.mark.parametrize("name", ["sdk", "fastmcp"])
@pytest.mark.parametrize("era", ["old", "new"])
async def test_progress_of_a_real_server_arrives_before_its_result(name: str, era: str):
    heard: list[tuple[float, float | None, str | None]] = []
    async with fail_after(LONG * 2), SERVERS[name]() as url, link_to(url, era) as (link, call):
        reply = await link.send(call("count", {"to": 3}, on_progress=lambda *told: heard.append(told)))

        assert reply["structuredContent"] == {"result": 3}
        assert heard[-1] == (3, 3, "at 3")
        assert heard == sorted(heard)


async def test_a_real_server_that_does_not_know_a_method_says_so_with_a_status():
    async with fail_after(LONG * 2), SERVERS["sdk"]() as url, new_link(url) as link:
        with pytest.raises(PeerRefused) as refused:
            await link.send(ask_new("no/such"))

        assert (refused.value.rpc_code, refused.value.status) == (-32601, 404)
        assert not link.lost.done()


async def test_a_session_that_a_real_server_ended_is_noticed():
    async with fail_after(LONG * 2), SERVERS["sdk"]() as url, old_link(url) as link:
        await link._endpoint.delete()
        reason = await link.lost

        assert "session" in reason.message
        with pytest.raises(ConnectionLost) as lost:
            await link.send(ask("tools/list"))
        assert not lost.value.sent


def speaks_old(on_call: Callable[[Asked, asyncio.StreamWriter], Any]) -> Any:
    """A server of the old era with a session, whose answers to `slow` are `on_call`'s."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "POST" and asked.message["method"] == "slow":
            await on_call(asked, writer)
        elif asked.method == "POST":
            writer.write(http_reply(result_body(asked.message.get("id"), HELLO), Mcp_Session_Id="s-1"))
        else:
            writer.write(http_reply(status="405 Not Allowed"))

    return answer


async def hang(asked: Asked, writer: asyncio.StreamWriter) -> None:
    """Never answer. The end of the connection is noticed by the next read, so this must return."""


async def hang_in_stream(asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(stream_head() + b": working\n\n")


def test_it_is_a_dispatcher():
    def takes(dispatcher: Dispatcher) -> None: ...

    async def gives() -> None:
        takes(HttpDispatcher("http://127.0.0.1/", {}, max_message=1, connect_timeout=1.0))

    asyncio.run(gives())


@pytest.mark.parametrize("stuck", [hang, hang_in_stream])
async def test_a_call_that_takes_too_long_names_its_phase_and_is_cancelled_at_an_old_server(stuck: Any):
    async with fail_after(LONG), raw_server(speaks_old(stuck)) as server, old_link(server.url) as link:
        with pytest.raises(ReplyTimeout) as error:
            await link.send(ask("slow", timeout=0.05, phase="list"))
        told = await server.next("notifications/cancelled")

        assert (error.value.phase, error.value.timeout) == ("list", 0.05)
        (slow,) = [asked.id for asked in server.asked if b'"slow"' in asked.body]
        assert told.message["params"]["requestId"] == slow
        assert told.headers["mcp-session-id"] == "s-1"
        assert not link.lost.done()


@pytest.mark.parametrize("stuck", [hang, hang_in_stream])
async def test_a_cancelled_call_stays_cancelled_and_an_old_server_is_told(stuck: Any):
    async with fail_after(LONG), raw_server(speaks_old(stuck)) as server, old_link(server.url) as link:
        sending = asyncio.create_task(link.send(ask("slow")))
        await server.next("slow")
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending

        assert (await server.next("notifications/cancelled")).message["params"]["requestId"] == 2


@pytest.mark.parametrize(("stuck", "times"), [(hang, 3), (hang_in_stream, 1)])
async def test_a_server_that_had_not_begun_to_answer_is_told_again(
    stuck: Any, times: int, monkeypatch: pytest.MonkeyPatch
):
    """It may get what cancels before what is cancelled, and forget it."""
    monkeypatch.setattr("bascule.transports.http.dispatcher.TELLINGS", (0.0, 0.0, 0.0))
    async with fail_after(LONG), raw_server(speaks_old(stuck)) as server, old_link(server.url) as link:
        with pytest.raises(ReplyTimeout):
            await link.send(ask("slow", timeout=0.5))
        await asyncio.gather(*link._tasks)

        methods = [asked.message["method"] for asked in server.asked if asked.body]
        assert methods.count("notifications/cancelled") == times


async def test_a_call_that_must_not_be_cancelled_is_only_left():
    async with fail_after(LONG), raw_server(speaks_old(hang)) as server, old_link(server.url) as link:
        with pytest.raises(ReplyTimeout):
            await link.send(ask("slow", timeout=0.05, cancel_on_abandon=False))
        await server.ended.get()
        await link.send(ask("after"))

        assert "notifications/cancelled" not in [asked.message["method"] for asked in server.asked if asked.body]


@pytest.mark.parametrize("stuck", [hang, hang_in_stream])
@pytest.mark.parametrize("how", ["time", "cancel"])
async def test_in_the_new_era_leaving_closes_the_response_and_says_nothing(stuck: Any, how: str):
    async with fail_after(LONG), raw_server(speaks_old(stuck)) as server, new_link(server.url) as link:
        sending = asyncio.create_task(link.send(ask("slow", timeout=0.05 if how == "time" else LONG)))
        await server.next("slow")
        if how == "cancel":
            sending.cancel()
        with pytest.raises((ReplyTimeout, asyncio.CancelledError)):
            await sending
        await server.ended.get()
        await asyncio.gather(*link._tasks)

        assert len(server.asked) == 1


async def test_a_connection_that_is_never_ready_fails_in_the_time_for_connecting():
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    # A TLS handshake needs both sides to speak: here one never does.
    async with fail_after(LONG), listener, http_link(f"https://127.0.0.1:{port}/", connect_timeout=0.05) as link:
        with pytest.raises(ConnectFailed, match=r"within 0\.05 s") as failed:
            await link.send(ask(phase="probe"))

        assert not failed.value.sent


@pytest.mark.parametrize("how", ["send", "notify"])
async def test_a_forgotten_session_ends_the_link_and_every_call_on_it(how: str):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "POST" and asked.message["method"].startswith("gone"):
            writer.write(http_reply(status="404 Not Found"))
        else:
            await speaks_old(hang)(asked, writer)

    server: RawServer
    async with fail_after(LONG), raw_server(answer) as server, old_link(server.url) as link:
        other = asyncio.create_task(link.send(ask("slow")))
        await server.next("slow")
        with pytest.raises(ConnectionLost) as lost:
            await (link.send(ask("gone")) if how == "send" else link.notify("gone"))
        assert not lost.value.sent
        assert link.lost.done()
        with pytest.raises(ConnectionLost) as others:
            await other
        assert others.value.sent
        await link.close(1.0)

        assert "DELETE" not in [asked.method for asked in server.asked]


async def test_a_failed_request_does_not_end_the_link():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.message["method"] == "bad":
            writer.transport.abort()
        else:
            writer.write(http_reply(result_body(asked.id, {})))

    async with fail_after(LONG), raw_server(answer) as server, http_link(server.url) as link:
        with pytest.raises(ConnectionLost):
            await link.send(ask("bad"))

        assert await link.send(ask("good")) == {}


@pytest.mark.parametrize("status", ["202 Accepted", "200 OK", "204 No Content"])
async def test_a_notification_is_accepted(status: str):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(status=status, kind=""))

    async with fail_after(LONG), raw_server(answer) as server, new_link(server.url) as link:
        await link.notify("notifications/x", {"a": 1})

        assert server.asked[0].message == {"jsonrpc": "2.0", "method": "notifications/x", "params": {"a": 1}}
        assert server.asked[0].headers["mcp-protocol-version"] == "2026-07-28"


async def test_a_notification_that_is_refused_raises():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(status="400 Bad Request"))

    async with fail_after(LONG), raw_server(answer) as server, http_link(server.url) as link:
        with pytest.raises(PeerRefused):
            await link.notify("notifications/x")


async def test_the_new_era_posts_no_cancellation():
    async with fail_after(LONG), raw_server(speaks_old(hang)) as server, new_link(server.url) as link:
        await link.notify("notifications/cancelled", {"requestId": 1})

        assert server.connections == 0


async def test_closing_fails_what_is_in_flight_ends_the_session_and_leaves_nothing():
    before = asyncio.all_tasks()
    async with fail_after(LONG), raw_server(speaks_old(hang)) as server, old_link(server.url) as link:
        calls = [asyncio.create_task(link.send(ask("slow"))) for _ in range(3)]
        for _ in calls:
            await server.next("slow")
        await link.close(LONG)

        assert "closed" in link.lost.result().message
        for call in calls:
            with pytest.raises(ConnectionLost, match="closed") as lost:
                await call
            assert lost.value.sent
        deleted = await server.next("DELETE")
        assert deleted.headers["mcp-session-id"] == "s-1"
        with pytest.raises(ConnectionLost) as late:
            await link.send(ask())
        assert not late.value.sent
        assert "notifications/cancelled" not in [asked.message["method"] for asked in server.asked if asked.body]
    assert asyncio.all_tasks() == before


async def test_closing_twice_and_from_several_tasks_is_one_end():
    async with fail_after(LONG), raw_server(speaks_old(hang)) as server, old_link(server.url) as link:
        await asyncio.gather(*(link.close(LONG) for _ in range(5)))
        await link.close(LONG)

        assert [asked.method for asked in server.asked].count("DELETE") == 1


async def test_closing_is_bounded_even_if_the_server_never_answers():
    async def mute(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "POST":
            await speaks_old(hang)(asked, writer)
        else:
            await asyncio.Event().wait()

    async with fail_after(LONG), raw_server(mute) as server, old_link(server.url) as link:
        await link.close(0.05)

        assert link.lost.done()
        await server.next("DELETE")


async def test_closing_goes_on_when_the_one_who_asked_for_it_is_cancelled():
    async with fail_after(LONG), raw_server(speaks_old(hang)) as server, old_link(server.url) as link:
        closing = asyncio.create_task(link.close(LONG))
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing

        await server.next("DELETE")


async def test_a_link_can_be_closed_while_it_connects():
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await reader.read()
        writer.close()

    arrived = asyncio.Event()
    listener = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with fail_after(LONG), listener, http_link(f"https://127.0.0.1:{port}/") as link:
        call = asyncio.create_task(link.send(ask()))
        await arrived.wait()
        await link.close(1.0)

        with pytest.raises(ConnectionLost) as lost:
            await call
        assert not lost.value.sent


async def test_a_link_that_was_never_opened_can_be_closed_and_not_opened_after():
    link = HttpDispatcher("http://127.0.0.1/", {}, max_message=1000, connect_timeout=1.0)
    with pytest.raises(ConnectFailed):
        await link.send(ask())
    await link.close(1.0)

    assert link.lost.done()
    with pytest.raises(ConnectFailed):
        await link.open()


async def test_the_new_era_has_no_session_to_end():
    async with fail_after(LONG), raw_server(speaks_old(hang)) as server:
        async with new_link(server.url) as link:
            await link.send(ask("tools/list"))

        assert [asked.method for asked in server.asked] == ["POST"]
