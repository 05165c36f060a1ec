"""Transaction of one call: its local changes, which are committed or rolled back when the call ends.

Participants are the state of the agent session, its workspace, and objects that a program registers. Most calls change
nothing here, so a participant joins with its first change."""

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from enum import StrEnum
from typing import Protocol

import msgspec

from bascule.core.errors import BasculeError


class Undo(Protocol):
    """What one participant has changed in one call. One of these is called, once, perhaps in another thread. Neither
    may touch what other calls have changed."""

    def commit(self) -> None:
        """Keep the changes, and forget how to undo them."""
        ...

    def rollback(self) -> None:
        """Undo them, except where another call has changed the same thing since. Raises where it cannot."""
        ...


class Participant(Protocol):
    """Takes part in every call of an agent session from its beginning. Must be hashable."""

    def begin(self) -> Undo: ...


class Ending(StrEnum):
    """What became of a call's changes on our side."""

    NOTHING = "nothing"
    """There were none."""
    KEPT = "kept"
    RESTORED = "restored"
    WAITING = "waiting"
    """The server may still be at it. They are undone when its link has ended."""
    FAILED = "failed"
    """A participant could not undo them, or not keep them."""


class Remote(StrEnum):
    """What a call has done at the server, as far as we can tell. What was done there is never claimed undone."""

    NONE = "none"
    """Nothing: it never left us, or its tool only reads."""
    DONE = "done"
    UNKNOWN = "unknown"


class Transaction(msgspec.Struct, eq=False):
    """The changes of one call."""

    workspace: Callable[[], object] | None = None
    """Gives the workspace of the agent session whose call it is. It stands here because to set one variable of the
    context costs a call less than to set two."""
    over: bool = False
    """Whether it has ended: what is changed now is nobody's to undo."""
    parts: dict[Hashable, Undo] = {}  # each has its own: a struct copies it
    """Of those who have changed something."""

    def part(self, participant: Hashable, begin: Callable[[], Undo]) -> Undo:
        """The part of this participant; it begins where it has not yet."""
        undo = self.parts.get(participant)
        if undo is None:
            undo = self.parts[participant] = begin()
        return undo

    def commit(self) -> tuple[Ending, tuple[str, ...]]:
        """Keep every change. With what went wrong about that, in words."""
        return self._end(Ending.KEPT, [undo.commit for undo in self.parts.values()])

    def rollback(self) -> tuple[Ending, tuple[str, ...]]:
        """Undo every change, the last participant's first. With what could not be undone, in words."""
        return self._end(Ending.RESTORED, [undo.rollback for undo in reversed(self.parts.values())])

    def _end(self, ending: Ending, steps: list[Callable[[], None]]) -> tuple[Ending, tuple[str, ...]]:
        self.over = True
        problems = [problem for step in steps if (problem := _problem_of(step))]
        if problems:
            return Ending.FAILED, tuple(problems)
        return ending if steps else Ending.NOTHING, ()


def _problem_of(step: Callable[[], None]) -> str:
    try:
        step()
    except BasculeError as error:
        return error.message
    except Exception as error:  # noqa: BLE001 -- a user's code: the others must have their turn all the same
        return f"a participant raised {type(error).__name__}"
    return ""


CURRENT: ContextVar[Transaction | None] = ContextVar("bascule_transaction", default=None)
"""The transaction of the call in whose course this code runs. Set by whoever carries the call out."""


def current_transaction() -> Transaction | None:
    """The one to which a change made here and now belongs, if there is one that has not ended."""
    transaction = CURRENT.get()
    return None if transaction is None or transaction.over else transaction
