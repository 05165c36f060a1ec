"""Rollback of local changes: kept if the call succeeds, undone if it fails, but never while its server may still be at
work on it."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from bascule.core.errors import BasculeError, UsageError
from bascule.core.events import CallUndone
from bascule.core.permission import WRITING
from bascule.core.principal import Principal
from bascule.core.undo.transaction import Ending, Participant, Undo
from bascule.runtime.call_state import Trail
from bascule.runtime.sensitivity_rules import is_answer, never_looked_at
from bascule.runtime.session_context import Governed, Standing
from bascule.upstream.link import Link

IN_PROCESS = frozenset({"memory", "native"})
"""The kinds of link whose server can change something on our side after we have stopped waiting for it."""


class Undoing:
    """The transactions of all calls of one runtime."""

    def __init__(self, tell: Callable[[CallUndone], None], clock: Callable[[], float]) -> None:
        self._tell = tell
        self._clock = clock
        self._waiting: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        return bool(self._waiting)

    def begin(self, standing: Standing, spec: Governed, link: Link, trail: Trail) -> None:
        """The request is sent in this step, so whoever wants to undo what comes of it begins here."""
        for participant in standing.participants:
            trail.changes.part(participant, partial(_begin, participant))
        trail.doubt = link
        trail.writes = not spec.permissions.isdisjoint(WRITING)

    async def end(self, principal: Principal, trail: Trail, *, ok: bool) -> None:
        """Keep or undo. The caller waits for this: what they do next must find it done."""
        if _may_be_at_it(trail):
            self._undo_later(principal, trail)
        elif trail.changes.parts:
            # Seen to even if the caller stops waiting in the middle: a part is ended once, and in one way.
            trail.changes.over = True
            await asyncio.shield(self._start(self._finish(trail, ok=ok)))

    def give_up(self, principal: Principal, trail: Trail) -> None:
        """Nobody waits for the call any more. What it has changed is undone without them."""
        if not trail.changes.over and (trail.changes.parts or _may_be_at_it(trail)):
            self._undo_later(principal, trail)

    async def close(self) -> None:
        """See to the end of what waits. All links have ended by now."""
        while self._waiting:
            await asyncio.wait(self._waiting)

    def _undo_later(self, principal: Principal, trail: Trail) -> None:
        trail.local = Ending.WAITING
        self._start(self._undo(principal, trail))

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)
        return task

    async def _finish(self, trail: Trail, *, ok: bool) -> None:
        trail.local, problems = await asyncio.to_thread(trail.changes.commit if ok else trail.changes.rollback)
        trail.findings = (*trail.findings, *problems)

    async def _undo(self, principal: Principal, trail: Trail) -> None:
        if trail.doubt is not None:
            await trail.doubt.over()
        ending, problems = await asyncio.to_thread(trail.changes.rollback)
        if ending is not Ending.NOTHING:
            self._tell(CallUndone(trail.name, trail.server, principal, ending, problems, self._clock()))


def _may_be_at_it(trail: Trail) -> bool:
    """Whether its server may still change something on our side, or what it has changed may still be in its hands."""
    return trail.doubt is not None and (bool(trail.changes.parts) or trail.doubt.kind in IN_PROCESS)


def settle(error: BasculeError, trail: Trail) -> None:
    """Take from an error that the server is done with what it was sent, or never was at it, where it tells that."""
    if is_answer(error):
        trail.doubt, trail.answered = None, True
    elif never_looked_at(error):
        trail.doubt = None


def _begin(participant: Participant) -> Undo:
    try:
        return participant.begin()
    except BasculeError:
        raise
    except Exception as error:
        raise UsageError(
            f"the call was not sent: a participant could not begin, it raised {type(error).__name__}",
            fix="mend the participant that was registered with AgentSession.take_part",
        ) from error
