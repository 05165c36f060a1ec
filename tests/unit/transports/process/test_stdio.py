import asyncio
import gc
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerRefused, PermitLost, ProtocolViolation, ReplyTimeout
from bascule.sandbox.process.child import Command
from bascule.transports.dispatcher import Response
from bascule.transports.jsonrpc import ANSWERS_WAITING, GARBAGE_LIMIT, SERVER_REQUESTS
from bascule.transports.process.stdio import StdioDispatcher
from bascule.wire.request_meta import INTERNAL_ERROR, METHOD_NOT_FOUND
from support.children import children
from support.processes import ended
from support.servers import methods, opened, received, stdio
from support.streams import Leave, a_request
from support.waiting import fail_after

REPLY = '{"jsonrpc": "2.0", "id": $ID, "result": {"ok": true}}'
A_LOT = "x" * 1_000_000
"""More than a pipe and asyncio's own buffer hold."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "received"


def ask(server: StdioDispatcher, method: str = "do", /, timeout: float = 10.0, **order: Any) -> Any:
    """Tell a puppet what to do, in a task of its own."""
    terms = {name: order.pop(name) for name in ("permit", "on_progress") if name in order}
    return asyncio.create_task(server.send(a_request(method, timeout, params=order, **terms)))


def progress(request_id: str, value: int) -> str:
    params = f'{{"progressToken": {request_id}, "progress": {value}}}'
    return f'{{"jsonrpc": "2.0", "method": "notifications/progress", "params": {params}}}'


def question(method: str, request_id: Any = '"q"') -> str:
    return f'{{"jsonrpc": "2.0", "id": {request_id}, "method": "{method}"}}'


# Talking


async def test_a_request_goes_to_the_process_and_its_reply_comes_back(log: Path):
    async with opened(stdio("puppet", log)) as server:
        assert await ask(server, "tools/call", say=[REPLY]) == {"ok": True}
        await server.notify("notifications/initialized")
        await ask(server)

    assert methods(log) == ["tools/call", "notifications/initialized", "do"]


async def test_many_at_once_each_get_their_own(log: Path):
    async with opened(stdio("echo")) as server:
        texts = [str(number) for number in range(200)]
        params = [{"name": "echo", "arguments": {"message": text}} for text in texts]
        replies = await asyncio.gather(*(server.send(a_request(params=each)) for each in params))

    assert [reply["content"][0]["text"] for reply in replies] == texts


async def test_a_timeout_tells_the_server_which_request_it_was(log: Path):
    async with opened(stdio("puppet", log)) as server:
        with pytest.raises(ReplyTimeout):
            await ask(server, "slow", timeout=0.05, say=[])
        await ask(server)

    slow, cancelled = received(log)[:2]
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == slow["id"]


async def test_a_cancelled_caller_stays_cancelled_and_the_server_is_told(log: Path):
    async with opened(stdio("puppet", log)) as server:
        slow = ask(server, "slow", say=[])
        await ask(server)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        await ask(server)

    assert methods(log) == ["slow", "do", "notifications/cancelled", "do"]


async def test_a_permit_revoked_while_the_pipe_is_full_means_the_server_never_sees_the_request(log: Path):
    async with deaf(log) as server:
        first = ask(server, "first", padding=A_LOT)
        leave = Leave()
        second, third = ask(server, "second", permit=leave), ask(server, "third")
        await asyncio.sleep(0)
        leave.given = False
        os.kill(server.pid or 0, signal.SIGUSR1)

        with pytest.raises(PermitLost):
            await second
        await asyncio.gather(first, third)

    assert methods(log) == ["first", "third"]


async def test_a_request_given_up_while_the_pipe_is_full_never_leaves(log: Path):
    async with deaf(log) as server:
        first, second = ask(server, "first", padding=A_LOT), ask(server, "second")
        await asyncio.sleep(0)
        second.cancel()
        os.kill(server.pid or 0, signal.SIGUSR1)
        await first
        await ask(server, "third")

    assert methods(log) == ["first", "third"]


@asynccontextmanager
async def deaf(log: Path) -> AsyncGenerator[StdioDispatcher]:
    """A deaf server that is up. It is listened to before it is started: what it says first may come at once."""
    made, said = stdio("deaf", log), asyncio.Event()
    made.on_notice = lambda *_: said.set()
    async with opened(made) as server:
        await said.wait()
        yield server


# Progress


async def test_progress_comes_in_order_and_before_the_result(log: Path):
    told: list[Any] = []
    async with opened(stdio("puppet", log)) as server:

        async def note(value: float, *_: Any) -> None:
            for _step in range(50):  # the result is there long before
                await asyncio.sleep(0)
            told.append(value)

        lines = [progress("$ID", value) for value in range(5)]
        await ask(server, say=[*lines, REPLY], on_progress=note)
        seen = list(told)

    assert seen == sorted(seen)
    assert seen[-1] == 4
    assert received(log)[0]["params"]["_meta"] == {"progressToken": 1}


async def test_a_storm_of_progress_is_coalesced_and_its_end_arrives(log: Path):
    told: list[float] = []
    async with opened(stdio("puppet", log)) as server:
        lines = [progress("$ID", value) for value in range(20_000)]
        assert await ask(server, say=[*lines, REPLY], on_progress=lambda value, *_: told.append(value)) == {"ok": True}

    assert told[-1] == 19_999
    assert len(told) < 2_000


async def test_a_callback_that_raises_does_not_cost_the_result(log: Path):
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context.get("exception")))

    def broken(*_: Any) -> None:
        raise ValueError("broken")

    async with opened(stdio("puppet", log)) as server:
        assert await ask(server, say=[progress("$ID", 1), REPLY], on_progress=broken) == {"ok": True}
    gc.collect()
    assert [str(complaint) for complaint in complaints] == ["broken"]


async def test_progress_nobody_asked_for_is_counted(log: Path):
    async with opened(stdio("puppet", log)) as server:
        await ask(server, say=[progress("$ID", 1), progress("99", 1), progress("null", 1), REPLY])

        assert server.counters.notices_dropped == 3


# What the server asks


async def answers(server: StdioDispatcher, log: Path, *lines: str) -> list[dict[str, Any]]:
    """What a server that says these lines gets back for them."""
    await ask(server, say=[*lines, REPLY])
    await ask(server)
    return [message for message in received(log) if "method" not in message]


async def test_a_ping_is_answered_with_the_servers_own_id(log: Path):
    async with opened(stdio("puppet", log)) as server:
        got = await answers(server, log, question("ping"), question("ping", 7), question("ping", "1.5"))

    assert got == [{"jsonrpc": "2.0", "id": each, "result": {}} for each in ("q", 7, 1.5)]


async def test_what_we_do_not_offer_is_refused(log: Path):
    async with opened(stdio("puppet", log)) as server:
        (got,) = await answers(server, log, question("sampling/createMessage"))

    assert (got["id"], got["error"]["code"]) == ("q", METHOD_NOT_FOUND)


@pytest.mark.parametrize(
    ("raised", "code"),
    [(PeerRefused("not now", rpc_code=-1, data=[1]), -1), (ConnectionLost("closing"), INTERNAL_ERROR)],
    ids=["refused", "lost"],
)
async def test_an_error_of_ours_is_an_error_to_the_server(log: Path, raised: Exception, code: int):
    async def refuse(method: str, params: dict[str, Any]) -> Response:
        raise raised

    async with opened(stdio("puppet", log)) as server:
        server.on_request = refuse
        (got,) = await answers(server, log, question("roots/list"))

    assert got["error"]["code"] == code
    assert got["error"].get("data") == getattr(raised, "data", None)


async def test_more_questions_at_a_time_than_we_answer_are_refused(log: Path):
    enough = asyncio.Event()

    async def answer(method: str, params: dict[str, Any]) -> Response:
        await enough.wait()
        return Response({"roots": []})

    async with opened(stdio("puppet", log)) as server:
        server.on_request = answer
        asked = [question("roots/list", number) for number in range(SERVER_REQUESTS + 3)]
        refused = await answers(server, log, *asked)
        enough.set()
        await asyncio.sleep(0)
        await ask(server)
        answered = [message["id"] for message in received(log) if "result" in message]

    assert [message["id"] for message in refused] == list(range(SERVER_REQUESTS, SERVER_REQUESTS + 3))
    assert all(message["error"]["code"] == INTERNAL_ERROR for message in refused)
    assert answered == list(range(SERVER_REQUESTS))


async def test_a_server_that_asks_and_never_reads_is_given_up(log: Path):
    async with deaf(log) as server:
        waiting = ask(server, "first", padding=A_LOT)
        await asyncio.sleep(0)
        for _ in range(ANSWERS_WAITING + 1):
            server.feed(question("ping").encode() + b"\n")

        with pytest.raises(ProtocolViolation, match="does not read"):
            await waiting
        os.kill(server.pid or 0, signal.SIGKILL)


# Its end


async def test_an_exit_is_told_with_its_code_and_its_last_words(log: Path):
    async with opened(stdio("puppet", log)) as server:
        with pytest.raises(ConnectionLost) as caught:
            await ask(server, stderr="out of \x1b[31mcheese\x1b[0m\n", say=[], exit=3)

        assert caught.value.message == "the server exited with code 3"
        assert caught.value.evidence == server.evidence() == "out of cheese"
        assert caught.value.sent


@pytest.mark.parametrize("order", list(permutations(["exit", "stdout", "stderr"])), ids=" ".join)
async def test_the_signs_of_an_end_come_in_any_order_and_the_reason_is_whole(order: tuple[str, ...]):
    server = stdio("puppet", "/dev/null")
    for sign in order:
        if sign == "stderr":
            server.said(b"out of cheese")
        server.ended(sign)
        await asyncio.sleep(0.001)

    assert server.lost.result().evidence == "out of cheese"


async def test_a_reply_written_just_before_the_exit_still_counts(log: Path):
    async with opened(stdio("puppet", log)) as server:
        assert await ask(server, say=[REPLY], exit=0) == {"ok": True}
        assert (await server.lost).message == "the server exited with code 0"


async def test_a_kill_is_told_with_its_signal(log: Path):
    async with opened(stdio("puppet", log)) as server:
        await ask(server)
        os.kill(server.pid or 0, signal.SIGKILL)

        assert (await server.lost).message == "the server was ended by signal 9"


async def test_a_closed_stdout_is_the_end_though_the_process_lives(log: Path):
    async with opened(stdio("puppet", log)) as server:
        with pytest.raises(ConnectionLost, match="closed its stdout but still runs"):
            await ask(server, say=[], close=True)


async def test_an_exit_is_noticed_though_something_it_left_holds_its_stdout():
    made = stdio("parent", "--far")
    left: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    made.on_notice = lambda _, params: left.set_result(params["pid"])
    async with opened(made) as server:
        far = await left
        os.kill(server.pid or 0, signal.SIGKILL)
        assert (await server.lost).message == "the server was ended by signal 9"
        await ended(far)


async def test_at_death_each_is_told_whether_its_request_had_left(log: Path):
    async with deaf(log) as server:
        first, second = ask(server, "first", padding=A_LOT), ask(server, "second")
        await asyncio.sleep(0)
        os.kill(server.pid or 0, signal.SIGKILL)

        for call, sent in ((first, True), (second, False)):
            with pytest.raises(ConnectionLost) as caught:
                await call
            assert caught.value.sent is sent


async def test_garbage_without_end_is_the_end(log: Path):
    async with opened(stdio("puppet", log)) as server:
        with pytest.raises(ProtocolViolation):
            await ask(server, say=["Loading..."] * GARBAGE_LIMIT)

        assert server.counters.garbage == GARBAGE_LIMIT
        assert server.counters.last_garbage == "Loading..."


async def test_a_message_over_the_cap_is_the_end(log: Path):
    async with opened(stdio("puppet", log, max_message=100_000)) as server:
        with pytest.raises(ProtocolViolation, match="longer than 100000 bytes"):
            await ask(server, say=['"' + "x" * 200_000 + '"'])


async def test_secrets_in_its_last_words_are_hidden(log: Path):
    async with opened(stdio("puppet", log, hidden=("hunter22",))) as server:
        with pytest.raises(ConnectionLost) as caught:
            await ask(server, stderr="bad token hunter22\n", say=[], exit=1)

    assert caught.value.evidence == "bad token ***"


async def test_a_command_that_cannot_be_started_is_a_failure_to_connect_that_says_why():
    server = StdioDispatcher(Command(["no-such-server"], {"PATH": "/bin"}), max_message=1000)

    with pytest.raises(ConnectFailed, match="command not found") as caught:
        await server.open()
    assert caught.value.fix.startswith("install no-such-server")
    await server.close(1.0)


async def test_closing_twice_and_from_several_tasks_is_one_end(log: Path):
    async with opened(stdio("puppet", log)) as server:
        waiting = ask(server, say=[])
        await ask(server)
        await asyncio.gather(*(server.close(1.0) for _ in range(3)))
        await server.close(1.0)

        with pytest.raises(ConnectionLost, match="the link was closed"):
            await waiting


@pytest.mark.parametrize("steps", range(0, 12, 2))
async def test_closing_while_it_opens_leaves_nothing(log: Path, steps: int):
    before = children()
    server = stdio("stubborn")
    opening = asyncio.create_task(server.open())
    for _ in range(steps):
        await asyncio.sleep(0)
    async with fail_after(20, "the end"):
        await server.close(0.1)
        assert children() == before
        await asyncio.gather(opening, return_exceptions=True)


async def test_after_closing_it_cannot_be_opened():
    server = stdio("puppet", "/dev/null")
    await server.close(1.0)

    with pytest.raises(ConnectFailed, match="closed"):
        await server.open()


async def test_a_caller_who_stops_waiting_for_the_end_does_not_cut_it_short():
    before = children()
    server = stdio("stubborn")
    await server.open()
    impatient = asyncio.create_task(server.close(0.2))
    await asyncio.sleep(0)
    impatient.cancel()
    async with fail_after(20, "the end"):
        await server.close(0.2)

    assert children() == before
