"""Changes of a client's roots: notifies the servers that have received its roots, and routes their `roots/list`
requests to it."""

import asyncio
from contextlib import suppress
from weakref import WeakKeyDictionary

from bascule.core.client_features import Respondent
from bascule.core.errors import PeerError, PermitLost
from bascule.core.principal import Principal
from bascule.runtime.server_requests.in_flight import Errand
from bascule.runtime.server_requests.parse import ROOTS, answers
from bascule.runtime.session_context import Standing
from bascule.upstream.server_requests import AskedOn
from bascule.wire.input_required import Question

ROOTS_CHANGED = "notifications/roots/list_changed"

SHORTEST_PAUSE = 0.05
LONGEST_PAUSE = 2.0
"""Seconds between two tellings of one principal's. They double for as long as there is always more to tell."""


class RootsNews:
    """The links of one runtime on which a server was told of a client's roots. Only servers of the old era are among
    them: those of the new one ask with each request, and have no word for this."""

    def __init__(self) -> None:
        self._told: WeakKeyDictionary[AskedOn, Errand | None] = WeakKeyDictionary()
        """Each with the client that has said last that its roots are others, which answers where no request does."""
        self._newest: dict[Principal, Respondent] = {}
        self._telling: dict[Principal, asyncio.Task[None]] = {}

    def told(self, link: AskedOn) -> None:
        """A server has heard of a client's roots."""
        self._told.setdefault(link, None)

    def find(self, link: AskedOn, question: Question) -> Errand | None:
        """Who answers a server that asks outside of any request, if it is for roots and somebody said they changed."""
        errand = self._told.get(link)
        return errand if errand is not None and answers(errand.respondent, question) else None

    def changed(self, standing: Standing, respondent: Respondent) -> None:
        """A client, who answers with its roots, has others now. Does not wait for any server."""
        principal = standing.principal
        self._newest[principal] = respondent
        if principal not in self._telling:
            self._telling[principal] = asyncio.create_task(self._tell(standing), name="roots")

    async def close(self) -> None:
        tasks = tuple(self._telling.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for errand in tuple(self._told.values()):
            if errand is not None:
                errand.end()

    async def _tell(self, standing: Standing) -> None:
        pause, principal = SHORTEST_PAUSE, standing.principal
        try:
            while (respondent := self._newest.pop(principal, None)) is not None:
                links = [link for link in tuple(self._told) if link.key.principal == principal]
                await asyncio.gather(*(self._pass_on(standing, link, respondent) for link in links))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            # In the step of the last look: what is said from here on begins another one.
            del self._telling[principal]

    async def _pass_on(self, standing: Standing, link: AskedOn, respondent: Respondent) -> None:
        permit = standing.permit_on(link.key, ROOTS)
        if permit is None:
            # It would not be told of them either.
            return
        before, self._told[link] = self._told.get(link), Errand(respondent)
        if before is not None:
            before.end()
        with suppress(PeerError, PermitLost):
            await link.notify(ROOTS_CHANGED, permit)
