"""Notification queue of one client: changed lists, updated resources, log messages and finished elicitations,
between its requests. The queue is bounded: a slow client gets merged notifications, and a count of the log messages
left out."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import suppress
from typing import Any

from bascule.core.json_types import JsonObject
from bascule.core.log_listener import reaches
from bascule.gateway.mcp.elicitation import Ask, NotAnswered
from bascule.upstream.notifications import FINISHED, KINDS, REMARK, UPDATED, Kind
from bascule.wire.request_meta import SUBSCRIPTION_KEY

Tell = Callable[[str, JsonObject], Awaitable[None]]
"""Tells the client something. Waits for one that reads slowly."""

DEFAULT_LEVEL = "info"
"""From which level on a client of the old era hears what servers remark, until it says how much it wants."""

MOST_UPDATES = 256
"""Resources that have changed and were not told yet. Beyond that, what changed below a resource is told as the resource
itself."""

MOST_REMARKS = 64
"""Remarks that wait to be told. Of more, the newest are kept."""

MOST_AWAY = 64
"""Addresses to which a person was sent and is not known to have finished at. Of more, the oldest are forgotten."""

SHORTEST_PAUSE = 0.05
LONGEST_PAUSE = 2.0
"""Seconds between two tellings. They double for as long as there is always more to tell: a burst is told as one."""


class Outlet:
    """One client's news: which lists have changed, which resources, what servers remark, where a person has finished.
    Everything is put here in the
    step in which it happens, and told as the client reads; what happens meanwhile is told as one. It never grows."""

    def __init__(self, *, kinds: Collection[Kind] = KINDS, subscription: Any = None) -> None:
        """`subscription` is the id of the request by which a client of the new era listens; that hears no remarks."""
        self.asked = ""
        """From which level on the client has asked to hear remarks."""
        self._default = DEFAULT_LEVEL if subscription is None else ""
        self.resources: dict[str, Callable[[], None]] = {}
        """The resources that a client of the old era has subscribed to, each with how to give it up."""
        self.delivering = False
        self._ask: Ask | None = None
        self._kinds = frozenset(kinds)
        self._meta: JsonObject = {} if subscription is None else {"_meta": {SUBSCRIPTION_KEY: subscription}}
        self._changed: dict[Kind, None] = {}
        self._updated: dict[str, None] = {}
        self._remarks: list[JsonObject] = []
        self._missed = 0
        self._away: dict[tuple[str, str], str] = {}
        """Where a person was sent to, by the server and its own id: the id by which the client knows of it."""
        self._finished: list[str] = []
        self._pending = self.closed = False
        self._stirred: asyncio.Event | None = None
        """Set with each change, while the notifications are delivered. Made only then: most clients have no stream of
        their own, and an event or an empty deque takes 600 bytes."""
        self._on_close: list[Callable[[], None]] = []

    @property
    def level(self) -> str:
        """From which level on remarks are told. Empty: not at all."""
        return self.asked or self._default

    # What happens. None of these waits.

    def changed(self, kind: Kind) -> None:
        """A list may have changed."""
        if kind in self._kinds:
            self._changed[kind] = None
            self._stir()

    def updated(self, uri: str, subscribed: str) -> None:
        """A resource has changed: the one that the client subscribed to, or one below it."""
        self._updated[uri if len(self._updated) < MOST_UPDATES else subscribed] = None
        self._stir()

    def remarked(self, params: JsonObject) -> None:
        """A server has remarked something. Not kept for a client that is not there to hear it."""
        if self.delivering and reaches(params.get("level"), self.level):
            if len(self._remarks) == MOST_REMARKS:
                self._missed += 1
                del self._remarks[0]
            self._remarks.append(params)
            self._stir()

    def finished(self, server: str, theirs: str) -> bool:
        """A person has finished at an address, if the client was asked to send them there."""
        ours = self._away.pop((server, theirs), None)
        if ours is not None:
            self._finished = [*self._finished[1 - MOST_AWAY :], ours]
            self._stir()
        return ours is not None

    def ended(self) -> None:
        """Nothing is done for this agent session any more."""
        self.close()

    # The client's side.

    def send_away(self, server: str, theirs: str) -> str:
        """A person is sent to an address. Gives the id under which the client hears of it: two servers may have the
        same one."""
        ours = self._away.pop((server, theirs), None) or secrets.token_urlsafe(16)
        if len(self._away) >= MOST_AWAY:
            del self._away[next(iter(self._away))]
        self._away[server, theirs] = ours
        return ours

    def on_close(self, do: Callable[[], None]) -> None:
        """Have this done once nothing is told any more."""
        self._on_close.append(do)

    def close(self) -> None:
        """Tell nothing any more. May be called twice."""
        if not self.closed:
            self.closed = True
            self._stir()
            for do in (*self.resources.values(), *self._on_close):
                do()

    def _stir(self) -> None:
        self._pending = True
        if self._stirred is not None:
            self._stirred.set()

    async def ask(self, method: str, params: JsonObject) -> Any:
        """Put a question to the client that belongs to none of its requests. Raises `NotAnswered`."""
        if self._ask is None:
            raise NotAnswered("it has no stream of its own")
        return await self._ask(method, params)

    async def deliver(self, tell: Tell, ask: Ask | None = None) -> None:
        """Tell the client what there is to tell, until `close`. One at a time may do this. `ask` puts questions to it
        meanwhile."""
        self.delivering = True
        self._ask = ask
        self._stirred = stirred = asyncio.Event()
        pause = SHORTEST_PAUSE
        try:
            while not self.closed:
                if not self._pending:
                    await stirred.wait()
                if self.closed:
                    return
                for method, params in self._take():
                    await tell(method, params)
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._until_closed(stirred)
                pause = min(2 * pause, LONGEST_PAUSE) if self._pending else SHORTEST_PAUSE
        finally:
            self.delivering = False
            self._ask = self._stirred = None
            self._remarks.clear()

    async def _until_closed(self, stirred: asyncio.Event) -> None:
        while not self.closed:
            stirred.clear()
            await stirred.wait()

    def _take(self) -> Iterator[tuple[str, JsonObject]]:
        """All there is now. What comes while it is told is for the next time."""
        self._pending = False
        if self._stirred is not None:
            self._stirred.clear()
        changed, self._changed = self._changed, {}
        updated, self._updated = self._updated, {}
        finished, self._finished = self._finished, []
        remarks, missed = self._remarks, self._missed
        self._remarks = []
        self._missed = 0
        for kind in changed:
            yield f"notifications/{kind}/list_changed", {**self._meta}
        for uri in updated:
            yield UPDATED, {"uri": uri, **self._meta}
        for ours in finished:
            yield FINISHED, {"elicitationId": ours}
        if missed:
            yield REMARK, left_out(missed)
        for params in remarks:
            yield REMARK, params


def left_out(count: int) -> JsonObject:
    """What is told in place of remarks that came faster than the client reads."""
    return {"level": "warning", "logger": "bascule", "data": f"{count} log messages were left out"}
