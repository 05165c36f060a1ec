"""When what a call has changed is kept, undone, or left until its link has ended."""

import asyncio
import threading
from typing import Any, cast

import pytest

from bascule.core.call import ToolCall
from bascule.core.errors import BasculeError, ConnectFailed, ConnectionLost, PeerRefused, ReplyTimeout
from bascule.core.events import CallUndone
from bascule.core.undo.transaction import Ending, Remote
from bascule.runtime.call_state import Trail
from bascule.runtime.execution.rollback import Undoing, settle
from support.links import ALICE


class Line:
    """A link, as far as this looks at one."""

    def __init__(self, kind: str = "stdio") -> None:
        self.kind = kind
        self.ended = asyncio.Event()

    async def over(self) -> None:
        await self.ended.wait()


class Part:
    def __init__(self) -> None:
        self.ended = ""

    def commit(self) -> None:
        self.ended = "kept"

    def rollback(self) -> None:
        self.ended = "undone"


def a_trail(part: Part | None = None, line: Line | None = None) -> Trail:
    trail = Trail(ToolCall("work_act", {}))
    if part is not None:
        trail.changes.part("part", lambda: part)
    trail.doubt = cast("Any", line)
    return trail


@pytest.fixture
def told() -> list[CallUndone]:
    return []


@pytest.fixture
def undoing(told: list[CallUndone]) -> Undoing:
    return Undoing(told.append, lambda: 5.0)


@pytest.mark.parametrize(("ok", "ended", "local"), [(True, "kept", Ending.KEPT), (False, "undone", Ending.RESTORED)])
async def test_a_call_that_was_answered_is_ended_at_once(undoing: Undoing, ok: bool, ended: str, local: Ending):
    part = Part()
    trail = a_trail(part)
    await undoing.end(ALICE, trail, ok=ok)

    assert (part.ended, trail.local) == (ended, local)


async def test_one_whose_server_may_be_at_it_waits_for_the_end_of_the_link(undoing: Undoing, told: list[CallUndone]):
    part, line = Part(), Line()
    trail = a_trail(part, line)
    await undoing.end(ALICE, trail, ok=False)
    await asyncio.sleep(0)
    assert (part.ended, trail.local, trail.changes.over) == ("", Ending.WAITING, False)

    line.ended.set()
    await undoing.close()
    assert part.ended == "undone"
    assert told == [CallUndone("work_act", "", ALICE, Ending.RESTORED, (), 5.0)]


async def test_a_server_in_another_process_that_has_changed_nothing_here_is_not_waited_for(undoing: Undoing):
    trail = a_trail(line=Line("stdio"))
    await undoing.end(ALICE, trail, ok=False)

    assert trail.local is Ending.NOTHING


async def test_one_in_this_process_is_because_it_may_yet(undoing: Undoing, told: list[CallUndone]):
    part, line = Part(), Line("memory")
    trail = a_trail(line=line)
    await undoing.end(ALICE, trail, ok=False)
    trail.changes.part("part", lambda: part)
    line.ended.set()
    await undoing.close()

    assert (part.ended, len(told)) == ("undone", 1)


async def test_what_nobody_waits_for_is_undone_nevertheless(undoing: Undoing, told: list[CallUndone]):
    part = Part()
    trail = a_trail(part)
    undoing.give_up(ALICE, trail)
    await undoing.close()

    assert (part.ended, trail.local) == ("undone", Ending.WAITING)
    undoing.give_up(ALICE, nothing := a_trail())
    assert (nothing.local, len(told)) == (Ending.NOTHING, 1)


REFUSED = PeerRefused("no", rpc_code=-32000)


@pytest.mark.parametrize(
    ("error", "in_doubt", "remote"),
    [
        (REFUSED, False, Remote.UNKNOWN),
        (ConnectFailed("nobody there"), False, Remote.NONE),
        (ConnectionLost("gone", sent=False), False, Remote.NONE),
        (ConnectionLost("gone", sent=True), True, Remote.UNKNOWN),
        (ReplyTimeout("late", phase="call", timeout=1), True, Remote.UNKNOWN),
    ],
)
def test_an_error_tells_whether_the_server_is_done_with_it(error: BasculeError, in_doubt: bool, remote: Remote):
    trail = a_trail(line=cast("Any", object()))
    trail.writes = True
    settle(error, trail)

    assert (trail.doubt is not None, trail.remote(ok=False)) == (in_doubt, remote)


async def test_a_call_on_another_process_that_changed_nothing_here_is_given_up_without_a_trace(undoing: Undoing):
    trail = a_trail(line=Line("stdio"))
    undoing.give_up(ALICE, trail)

    assert (trail.local, undoing._waiting) == (Ending.NOTHING, set())


class Slow(Part):
    """Takes a while to end, and counts how often it has to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.times = 0

    def commit(self) -> None:
        self.begun.set()
        self.go_on.wait(10)
        self.times += 1
        super().commit()

    def rollback(self) -> None:
        self.times += 1
        super().rollback()


async def test_whoever_stops_waiting_while_it_is_kept_does_not_have_it_undone(undoing: Undoing):
    part = Slow()
    trail = a_trail(part)
    ending = asyncio.create_task(undoing.end(ALICE, trail, ok=True))
    await asyncio.to_thread(part.begun.wait, 10)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    undoing.give_up(ALICE, trail)
    part.go_on.set()
    await undoing.close()

    assert (part.ended, part.times) == ("kept", 1)
