"""Calls that wait for a person, where an operator can look at them and answer."""

import asyncio
import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bascule.core.client_features import Approval


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """One call that waits, for as long as it does."""

    id: str
    """Nobody can guess it: whoever knows it was shown the call."""
    approval: Approval
    since: float
    until: float
    answered: "asyncio.Future[tuple[bool, str]]" = field(repr=False)
    """Whether the person agrees, and who they are."""


class AskDesk:
    """The calls of one runtime that wait. Nothing is put here before somebody says that they attend to it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.attended = False
        """Whether somebody can answer here. Else a call that nobody else can be asked about is refused at once."""
        self._clock = clock
        self._waiting: dict[str, Waiting] = {}

    def waiting(self) -> tuple[Waiting, ...]:
        """The one that has waited longest first."""
        return tuple(self._waiting.values())

    @contextmanager
    def put(self, approval: Approval, limit: float) -> Generator[Waiting]:
        """Have a call lie here within."""
        answered: asyncio.Future[tuple[bool, str]] = asyncio.get_running_loop().create_future()
        now = self._clock()
        waiting = Waiting(secrets.token_urlsafe(16), approval, now, now + limit, answered)
        self._waiting[waiting.id] = waiting
        try:
            yield waiting
        finally:
            del self._waiting[waiting.id]
            answered.cancel()

    def answer(self, id_: str, by: str, *, agree: bool) -> Waiting | None:
        """Answer a call that waits. None where it does no more: somebody else was first, or its time is over."""
        waiting = self._waiting.get(id_)
        if waiting is None or waiting.answered.done():
            return None
        waiting.answered.set_result((agree, by))
        return waiting
