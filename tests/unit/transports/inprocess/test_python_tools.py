"""Functions of this program, spoken to like any server."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from bascule.core.counters import Tally
from bascule.core.errors import ConnectionLost, LaneClosed, PeerRefused, PermitLost, ProtocolViolation, ReplyTimeout
from bascule.core.json_types import JsonObject
from bascule.core.principal import Principal
from bascule.core.request import Request
from bascule.identity.current import get_user_id
from bascule.transports.inprocess.python_tool import native_tools
from bascule.transports.inprocess.python_tools import NativeDispatcher
from bascule.transports.inprocess.python_types import Progress
from bascule.upstream.negotiation import negotiate
from bascule.upstream.settings import Era
from support.links import ALICE, TERMS
from support.servers import CAP, opened
from support.streams import Leave
from support.waiting import fail_after

WHO: ContextVar[str] = ContextVar("who", default="nobody")


class Held:
    """Functions that wait until they are let go, in the loop and in a thread, and note how they ended."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.let_go = threading.Event()
        self.ended: list[str] = []

    async def hang(self) -> str:
        self.begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        return "never"

    async def cling(self) -> str:
        self.begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.ended.append("clung")
        return "too late"

    def block(self, say: Progress) -> str:
        say(1)
        self.let_go.wait(10)
        self.ended.append("let go")
        return "blocked"


async def echo(text: str) -> str:
    return text


@asynccontextmanager
async def talking(
    *functions: Callable[..., Any], principal: Principal | None = ALICE, leave: Leave | None = None, cap: int = CAP
) -> AsyncGenerator[NativeDispatcher]:
    dispatcher = NativeDispatcher(native_tools(functions), max_message=cap, principal=principal)
    dispatcher.leave = leave
    async with opened(dispatcher):
        yield dispatcher


def a_call(tool: str, arguments: JsonObject | None = None, timeout: float = 10.0, **terms: Any) -> Request:
    return Request("tools/call", {"name": tool, "arguments": arguments or {}}, timeout, **terms)


def calling(dispatcher: NativeDispatcher, request: Request) -> "asyncio.Task[JsonObject]":
    return asyncio.create_task(dispatcher.send(request))


@pytest.mark.parametrize(("era", "version"), [("auto", "2026-07-28"), ("new", "2026-07-28"), ("old", "2025-11-25")])
async def test_both_eras_are_spoken(era: Era, version: str):
    async with talking(echo) as dispatcher:
        agreement = await negotiate(dispatcher, TERMS, era)
        listed = await dispatcher.send(Request("tools/list", None, 5.0))

        assert (agreement.version, agreement.capabilities) == (version, {"tools": {}})
        assert [tool["name"] for tool in listed["tools"]] == ["echo"]
        assert await dispatcher.send(Request("ping", None, 5.0)) == {}


async def test_a_method_that_functions_do_not_know_is_refused():
    async with talking(echo) as dispatcher:
        with pytest.raises(PeerRefused):
            await dispatcher.send(Request("resources/list", None, 5.0))
        with pytest.raises(PeerRefused, match="nobody"):
            await dispatcher.send(a_call("nobody"))


async def test_a_function_runs_in_the_context_of_who_asks_and_knows_on_whose_behalf():
    async def tell() -> str:
        return f"{WHO.get()} for {get_user_id()}"

    def tell_apart() -> str:
        return f"{WHO.get()} for {get_user_id()}"

    async with talking(tell, tell_apart) as dispatcher:
        WHO.set("the caller")
        for name in ("tell", "tell_apart"):
            reply = await dispatcher.send(a_call(name))
            assert reply["content"][0]["text"] == "the caller for alice"


async def test_nothing_is_called_without_leave_or_permit():
    ran: list[str] = []

    async def run() -> None:
        ran.append("ran")

    gone = Leave(given=False)
    async with talking(run) as dispatcher:
        with pytest.raises(PermitLost):
            await dispatcher.send(a_call("run", permit=gone))
    async with talking(run, leave=gone) as dispatcher:
        with pytest.raises(PermitLost):
            await dispatcher.send(a_call("run"))
    assert ran == []


async def test_a_call_that_is_too_late_is_cancelled():
    held = Held()
    async with talking(held.hang) as dispatcher:
        with pytest.raises(ReplyTimeout) as late:
            await dispatcher.send(a_call("hang", timeout=0.05))
        await asyncio.sleep(0)

        assert (held.ended, late.value.evidence) == (["cancelled"], "")


async def test_a_call_nobody_waits_for_is_cancelled():
    held = Held()
    async with talking(held.hang) as dispatcher:
        call = calling(dispatcher, a_call("hang"))
        await held.begun.wait()
        call.cancel()
        await asyncio.wait((call,))
        await asyncio.sleep(0)

        assert held.ended == ["cancelled"]


async def test_a_thread_that_is_too_late_is_told_to_run_on_and_waited_for_at_the_end():
    held = Held()
    async with talking(held.block) as dispatcher:
        with pytest.raises(ReplyTimeout) as late:
            await dispatcher.send(a_call("block", timeout=0.05))
        assert "runs on in its thread" in late.value.evidence
        assert held.ended == []
        held.let_go.set()
    assert held.ended == ["let go"]


async def test_an_end_waits_no_longer_than_it_may_for_a_thread():
    held = Held()
    dispatcher = NativeDispatcher(native_tools([held.block]), max_message=CAP)
    await dispatcher.open()
    arrived = asyncio.Event()
    call = calling(dispatcher, a_call("block", on_progress=lambda *_: arrived.set()))
    await arrived.wait()
    async with fail_after(10, "the end"):
        await dispatcher.close(0.05)
    with pytest.raises(ConnectionLost):
        await call
    assert held.ended == []
    held.let_go.set()


async def test_severing_ends_what_is_at_work_in_that_step():
    held = Held()
    async with talking(held.hang) as dispatcher:
        call = calling(dispatcher, a_call("hang"))
        await held.begun.wait()
        dispatcher.sever(LaneClosed("the level was raised"))
        with pytest.raises(LaneClosed, match="raised"):
            await call
    assert held.ended == ["cancelled"]


async def test_revoking_ends_what_has_no_permit_any_more_and_nothing_else():
    hers, his, permit = Held(), Held(), Leave()

    async def other() -> str:
        his.begun.set()
        await asyncio.to_thread(his.let_go.wait, 10)
        return "done"

    async with talking(hers.hang, other) as dispatcher:
        barred = calling(dispatcher, a_call("hang", permit=permit))
        goes_on = calling(dispatcher, a_call("other", permit=Leave()))
        await asyncio.gather(hers.begun.wait(), his.begun.wait())
        permit.given = False
        assert dispatcher.revoke(LaneClosed("the level was raised"))
        with pytest.raises(LaneClosed):
            await barred
        assert hers.ended == ["cancelled"]
        his.let_go.set()
        assert (await goes_on)["content"][0]["text"] == "done"


async def test_a_function_that_does_not_end_when_told_to_answers_nobody():
    held = Held()
    async with talking(held.cling, echo) as dispatcher:
        with pytest.raises(ReplyTimeout):
            await dispatcher.send(a_call("cling", timeout=0.05))
        assert (await dispatcher.send(a_call("echo", {"text": "a"})))["content"][0]["text"] == "a"
        assert (held.ended, dispatcher.counters.strays) == (["clung"], 0)


async def test_a_result_over_the_cap_is_no_reply_and_the_next_call_works():
    async with talking(echo, cap=1000) as dispatcher:
        with pytest.raises(ProtocolViolation, match="longer than 1000 bytes"):
            await dispatcher.send(a_call("echo", {"text": "x" * 1000}))
        assert (await dispatcher.send(a_call("echo", {"text": "a"})))["content"][0]["text"] == "a"


async def test_bytes_are_counted_where_somebody_wants_to_know():
    tally = Tally(lambda: 0.0)
    async with talking(echo) as dispatcher:
        await dispatcher.send(a_call("echo", {"text": "x" * 1000}, tally=tally))
    assert tally.window.within(0.0) > 2000


async def test_a_link_that_is_over_takes_no_calls():
    async with talking(echo) as dispatcher:
        pass
    with pytest.raises(ConnectionLost) as lost:
        await dispatcher.send(a_call("echo", {"text": "a"}))
    assert not lost.value.sent


async def test_progress_without_somebody_who_listens_goes_nowhere():
    held = Held()
    held.let_go.set()
    async with talking(held.block) as dispatcher:
        await dispatcher.send(a_call("block"))
        assert dispatcher.counters.notices_dropped == 0
