"""Requests that go on while their clients are away to find answers: of clients of the new era, at servers that ask in
the middle of their work."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from bascule.core.json_types import JsonObject
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.client import Client
from bascule.gateway.mcp.elicitation import NotAnswered
from bascule.gateway.mcp.envelope import Asked
from bascule.wire.input_required import INPUT_REQUIRED
from bascule.wire.request_meta import INTERNAL_ERROR

MOST_PARKED = 32
"""Requests of one agent session whose clients are away. Each holds a request at a server; what the next one asks is not
answered."""

UNFETCHED = 60.0
"""Seconds for which the end of a request is kept that nobody has fetched."""

Served = JsonObject | msgspec.Raw

Ticket = Callable[[str], str]
"""Seals the name under which a parked request is found again."""


class Parking:
    """Those of one agent session. Each has a new name for each time that its client goes away: one that was used is no
    name any more."""

    def __init__(self) -> None:
        self._inside: set[Parked] = set()
        self._named: dict[str, Parked] = {}

    def enter(self, parked: "Parked") -> None:
        """Raises `NotAnswered` where there is no room."""
        if len(self._inside) >= MOST_PARKED:
            raise NotAnswered(f"{MOST_PARKED} requests wait for answers already")
        self._inside.add(parked)

    def leave(self, parked: "Parked", name: str) -> None:
        """Nobody comes back for it any more."""
        self._inside.discard(parked)
        self._named.pop(name, None)

    def keep(self, parked: "Parked") -> str:
        name = secrets.token_urlsafe(24)
        self._named[name] = parked
        return name

    def take(self, name: str) -> "Parked | None":
        return self._named.pop(name, None)


class Parked:
    """One request, which is parked once something is asked in its course. Until then it is as any other."""

    def __init__(self, parking: Parking, asked: Asked, client: Client, ticket: Ticket) -> None:
        self._parking = parking
        self._ticket = ticket
        self._first = client
        self._bulk = asked.bulk
        self._here: tuple[Asked, Client] | None = (asked, client)
        """The request that waits for what comes next, if its client is not away."""
        self._unanswered = True
        """Whether the request that began it has no answer yet."""
        self._asked = 0
        self._open: dict[str, tuple[JsonObject, asyncio.Future[Any]]] = {}
        self._news: asyncio.Future[None] | None = None
        self._ended: Served | Rejected | None = None
        self._name = ""

    @property
    def streams(self) -> bool:
        return self._first.streams

    async def tell(self, method: str, params: JsonObject) -> None:
        """To the request that waits now, under the token that it gave. What happens while its client is away is told to
        nobody."""
        if self._here is None:
            return
        asked, client = self._here
        if "progressToken" in params:
            if asked.progress_token is None or not client.streams:
                return
            params = {**params, "progressToken": asked.progress_token}
        await client.tell(method, params)

    async def ask(self, method: str, params: JsonObject) -> Any:
        """The answer of the client, once it has come back with it."""
        if self._unanswered:
            # Its client makes the same request again, and that is as large.
            if self._bulk is not None and not self._bulk.set_aside():
                raise NotAnswered("too many large requests wait for answers already")
            self._parking.enter(self)
        key = f"question-{self._asked}"
        self._asked += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[key] = ({"method": method, "params": params}, answer)
        try:
            if self._unanswered:
                self._unanswered, self._here = False, None
                await self._first.let_go(self._wanted())
            else:
                self._wake()
            return await answer
        finally:
            self._open.pop(key, None)

    async def go_on(self, asked: Asked, client: Client, answers: JsonObject) -> Served:
        """What comes next once the client has come back: the next questions, or the result. Raises `Rejected`."""
        self._here = (asked, client)
        for key, value in answers.items():
            # One that it was not asked, or that nobody waits for any more, is let be.
            _, answer = self._open.pop(key, (None, None))
            if answer is not None and not answer.done():
                answer.set_result(value)
        try:
            while self._ended is None and not self._open:
                self._news = asyncio.get_running_loop().create_future()
                await self._news
        except asyncio.CancelledError:
            self._first.give_up()
            raise
        finally:
            self._here = None
        if self._ended is None:
            return self._wanted()
        self._parking.leave(self, self._name)
        if isinstance(self._ended, Rejected):
            raise self._ended
        return self._ended

    def end(self, outcome: Served | Rejected | None) -> None:
        """It is over. None, if that was not by itself: nobody comes for what is left of it then."""
        if self._unanswered:
            return
        self._ended = Rejected(INTERNAL_ERROR, "the request was given up") if outcome is None else outcome
        self._wake()
        wait = 0.0 if outcome is None else UNFETCHED
        if self._here is None:
            asyncio.get_running_loop().call_later(wait, self._parking.leave, self, self._name)

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def _wanted(self) -> JsonObject:
        self._name = self._parking.keep(self)
        questions = {key: question for key, (question, _) in self._open.items()}
        return {"resultType": INPUT_REQUIRED, "inputRequests": questions, "requestState": self._ticket(self._name)}
