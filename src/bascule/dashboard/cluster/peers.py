"""The other workers, as a dashboard asks them: all at once, for no longer than people wait. Who is silent is said."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec
from msgspec.json import Decoder

from bascule.dashboard.cluster.peers__questions import PATIENCE, Question
from bascule.gateway.cluster.peers import Silent
from bascule.store.owners import Member

LIMIT = 2.0
"""Seconds for an answer."""

QUIET = 5.0
"""Seconds for which one that did not answer is asked no more by pages: else each part of each page would wait anew."""

SAID = 60.0
"""Seconds for which it is said that a worker has ended."""

MOST_GONE = 20

UNNAMED = "a worker"

Told = TypeVar("Told")


class Asked(Protocol):
    """Who can be asked, and how. `gateway.cluster.peers` does it."""

    def others(self) -> tuple[Member, ...]: ...

    async def ask(self, member: Member, question: bytes, limit: float) -> bytes: ...


class Others:
    """All of them, from one worker's view."""

    def __init__(self, neighbours: Asked, clock: Callable[[], float] = time.monotonic) -> None:
        self._neighbours = neighbours
        self._clock = clock
        self._names: dict[str, str] = {}
        self._silent: dict[str, float] = {}
        self._gone: dict[str, tuple[str, float]] = {}

    def members(self) -> tuple[Member, ...]:
        """Those that are there. Who was and is no more is remembered for a while."""
        there = self._neighbours.others()
        ids, now = {each.id for each in there}, self._clock()
        for id_ in ids:
            self._names.setdefault(id_, UNNAMED)
        for id_ in [id_ for id_ in self._names if id_ not in ids]:
            self._gone[id_] = (self._names.pop(id_), now)
        self._silent = {id_: until for id_, until in self._silent.items() if id_ in ids}
        lately = [(id_, gone) for id_, gone in self._gone.items() if now - gone[1] < SAID]
        self._gone = dict(lately[-MOST_GONE:])
        return there

    def name(self, member: Member, name: str) -> None:
        """What people call it."""
        self._names[member.id] = name

    def said(self) -> str:
        """Whose part is not shown, in a sentence or two."""
        silent = [self._names.get(each.id, UNNAMED) for each in self.members() if each.id in self._silent]
        told = [f"{_named(silent)} not answer: what is served there is not shown."] if silent else []
        gone = [name for name, _ in self._gone.values()]
        if gone:
            told.append(f"Ended a moment ago: {', '.join(gone)}. What was served there is no longer shown.")
        return " ".join(told)

    async def ask(self, question: Question, kind: Decoder[Told]) -> list[tuple[Member, Told]]:
        """The answers of all who answer in time."""
        now = self._clock()
        asked = [each for each in self.members() if self._silent.get(each.id, 0.0) <= now]
        answers = await asyncio.gather(*(self._try(each, question, kind) for each in asked))
        return [(member, told[0]) for member, told in zip(asked, answers, strict=True) if told]

    async def ask_one(self, member: Member, question: Question, kind: Decoder[Told], limit: float = LIMIT) -> Told:
        """Raises `Silent`."""
        try:
            told = await self._neighbours.ask(member, msgspec.json.encode(question), limit)
            answer = kind.decode(told)
        except Silent:
            self._silent[member.id] = self._clock() + QUIET
            raise
        except msgspec.MsgspecError as error:
            self._silent[member.id] = self._clock() + QUIET
            raise Silent("its answer is not understood") from error
        self._silent.pop(member.id, None)
        return answer

    async def listen(self, member: Member, last: str, kind: Decoder[Told]) -> Told:
        """Its next news. Raises `Silent`."""
        return await self.ask_one(member, Question("news", name=last), kind, PATIENCE + LIMIT)

    async def _try(self, member: Member, question: Question, kind: Decoder[Told]) -> tuple[()] | tuple[Told]:
        try:
            return (await self.ask_one(member, question, kind),)
        except Silent:
            return ()


def _named(names: list[str]) -> str:
    first = f"{names[0][0].upper()}{names[0][1:]}"
    return f"{first} does" if len(names) == 1 else f"{', '.join((first, *names[1:]))} do"
