"""Pending approvals: a call waits for a person, through a program's callback or an operator's answer. Without consent
within 300 s it is refused."""

import asyncio
import secrets
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from bascule.core.client_features import Approval, OnAsk
from bascule.core.errors import Refused
from bascule.core.events import PersonAnswered, PersonAsked
from bascule.core.principal import Principal
from bascule.policy.verdict import Ask
from bascule.runtime.approvals.callback import put_to


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
    """Pending approvals of one runtime, which an operator can list and answer. Empty until `attended` is set."""

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


LONGEST_WAIT = 300.0
"""Seconds. A person who has not answered by then has left, and silence is no consent."""

PROGRAM = "program"
"""Who answered, where the program's own callback did."""

Answer = tuple[Literal["agreed", "refused", "nobody"], str]
"""What was said, and by whom."""

NOBODY: Answer = ("nobody", "")


def _untold(_event: PersonAsked | PersonAnswered) -> None:
    pass


class Asking:
    """Whoever can be asked whether a call may go on. The first answer counts."""

    def __init__(
        self,
        on_ask: OnAsk | None = None,
        limit: float = LONGEST_WAIT,
        *,
        tell: Callable[[PersonAsked | PersonAnswered], None] = _untold,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.desk = AskDesk(clock)
        self._on_ask = on_ask
        self._limit = limit
        self._tell = tell
        self._clock = clock

    async def agree(
        self, verdict: Ask, call: tuple[str, str, str], principal: Principal, arguments: Mapping[str, Any]
    ) -> None:
        """Raises `Refused` unless a person agrees. `call` is the name that was used, the server, and its own name."""
        if self._on_ask is None and not self.desk.attended:
            raise Refused(
                f"{verdict.message}, and nobody can be asked",
                rule=verdict.rule,
                fix=(
                    "run `bascule call` at a terminal, or give the Runtime an `on_ask` callback; or take the tool "
                    "out of the server's `ask`"
                ),
            )
        approval = Approval(*call, principal, arguments, verdict.message)
        answer = await self._answer(approval)
        if answer != "agreed":
            why = "nobody answered" if answer == "nobody" else "they did not agree"
            fix = "call it again, and have the person agree" if answer == "nobody" else "the person's word stands"
            raise Refused(f"{verdict.message}, and {why}", rule=verdict.rule, fix=fix)

    async def _answer(self, approval: Approval) -> str:
        who, now = (approval.name, approval.server, approval.principal), self._clock()
        answer = NOBODY
        self._tell(PersonAsked(*who, now + self._limit, now))
        try:
            answer = await self._first(approval)
        finally:
            # Also where whoever called has left: what waited here waits no more.
            self._tell(PersonAnswered(*who, *answer, self._clock()))
        return answer[0]

    async def _first(self, approval: Approval) -> Answer:
        if self._on_ask is None:
            return await self._at_the_desk(approval)
        if not self.desk.attended:
            return await self._of_the_program(self._on_ask, approval)
        both = (
            asyncio.ensure_future(self._at_the_desk(approval)),
            asyncio.ensure_future(self._of_the_program(self._on_ask, approval)),
        )
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return _stricter({each.result() for each in done})
        finally:
            for each in both:
                each.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _at_the_desk(self, approval: Approval) -> Answer:
        with self.desk.put(approval, self._limit) as waiting:
            try:
                async with asyncio.timeout(self._limit):
                    agree, by = await waiting.answered
            except TimeoutError:
                return NOBODY
            return ("agreed" if agree else "refused", by)

    async def _of_the_program(self, on_ask: OnAsk, approval: Approval) -> Answer:
        answer = await put_to(on_ask, approval, self._limit)
        if answer is None:
            return NOBODY
        return ("agreed" if answer is True else "refused", PROGRAM)


def _stricter(answers: set[Answer]) -> Answer:
    """Of answers that came in one step, one that does not agree."""
    return min(answers, key=lambda answer: ("refused", "nobody", "agreed").index(answer[0]))
