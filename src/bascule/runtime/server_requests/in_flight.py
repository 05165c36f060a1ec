"""In-flight requests whose callers answer the server requests that belong to them."""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any

from bascule.core.client_features import Respondent
from bascule.core.errors import ProtocolViolation, Refused
from bascule.core.json_types import JsonObject
from bascule.runtime.server_requests.parse import answers
from bascule.upstream.server_requests import AskedOn
from bascule.wire.input_required import MAX_QUESTIONS, Question

MOST_ASKED = 8 * MAX_QUESTIONS
"""Questions in the course of one request: as many as a server of the new era can ask in all its rounds."""


class Errand:
    """A request under way, and whoever answers for it. What is asked for its sake ends with it."""

    def __init__(self, respondent: Respondent) -> None:
        self.respondent = respondent
        self._asked = 0
        self._open: set[asyncio.Task[JsonObject]] = set()

    async def put(self, server: str, asking: Coroutine[Any, Any, JsonObject]) -> JsonObject:
        """The answer, if it comes before the request ends. Raises `Refused` if not."""
        self._asked += 1
        if self._asked > MOST_ASKED:
            asking.close()
            raise ProtocolViolation(f"{server} asked more than {MOST_ASKED} questions in one request", where="call")
        task = asyncio.ensure_future(asking)
        self._open.add(task)
        try:
            await asyncio.wait((task,))
        finally:
            self._open.discard(task)
            task.cancel()
        if task.cancelled():
            raise Refused("the request for whose sake this was asked is over", rule="question_is_answered")
        return task.result()

    def end(self) -> None:
        for task in self._open:
            task.cancel()


class UnderWay:
    """All of them, by the links on which they are."""

    def __init__(self) -> None:
        self._errands: dict[AskedOn, list[Errand]] = {}

    @contextmanager
    def during(self, link: AskedOn, respondent: Respondent) -> Generator[None]:
        """While a request is on this link."""
        errand = Errand(respondent)
        errands = self._errands.setdefault(link, [])
        errands.append(errand)
        try:
            yield
        finally:
            errands.remove(errand)
            if not errands:
                del self._errands[link]
            errand.end()

    def find(self, link: AskedOn, question: Question) -> Errand | None:
        """Of several that can answer, the oldest: a server does not say for the sake of which it asks."""
        errands = self._errands.get(link, ())
        return next((errand for errand in errands if answers(errand.respondent, question)), None)
