"""Resource subscriptions of one agent session: governed like reading, kept while a listener wants them, and renewed
after a lost link."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from bascule.core.call import Inquiry
from bascule.core.errors import LimitReached
from bascule.core.outcome import FailureKind, PageResult, ToolFailure
from bascule.runtime.execution.executor import Executor
from bascule.runtime.requests.operation import Operation
from bascule.runtime.requests.prompts_and_resources import Matter
from bascule.runtime.servers.notifications import Listener
from bascule.runtime.session_context import Standing
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link

MOST = 1000
"""Resources to which one agent session may be subscribed. Each is remembered here, and at its server."""

PASSING = frozenset({FailureKind.CONNECTION_ERROR, FailureKind.TIMEOUT, FailureKind.UNAVAILABLE})
"""Failures after which a subscription that was lost is tried again. After any other it is over."""

FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0
"""Seconds before a lost subscription is tried again. They double."""

Subscribing = Operation[Inquiry, Matter, PageResult]


class Held(msgspec.Struct):
    """One resource."""

    listeners: dict[Listener, None]
    key: LinkKey | None = None
    """Of the link on which its server was asked to tell. None, until it has agreed, and after that link has ended."""
    link: Link | None = None
    agreed: bool = False
    """Whether it ever has: then it is asked again when the link is lost."""


class Subscriptions:
    """All of one agent session's."""

    def __init__(
        self, standing: Standing, executor: Executor, subscribing: Subscribing, unsubscribing: Subscribing
    ) -> None:
        self._standing = standing
        self._executor = executor
        self._subscribing = subscribing
        self._unsubscribing = unsubscribing
        self._held: dict[str, Held] = {}
        self._restoring: asyncio.Task[None] | None = None
        self._tasks = set[asyncio.Task[Any]]()

    async def add(self, uri: str, listener: Listener) -> ToolFailure | None:
        """Have a listener told of a resource. Why that cannot be, if so."""
        held = self._held.get(uri)
        if held is None:
            if len(self._held) >= MOST:
                return _too_many()
            held = self._held[uri] = Held({})
        held.listeners[listener] = None
        if held.key is not None:
            return None
        try:
            outcome = await self._subscribe(uri, held)
        except BaseException:
            self.remove(uri, listener)
            raise
        if isinstance(outcome, ToolFailure):
            self.remove(uri, listener)
            return outcome
        return None

    def remove(self, uri: str, listener: Listener) -> None:
        """A listener no longer wants to be told. The server hears of it once nobody does."""
        held = self._held.get(uri)
        if held is None or held.listeners.pop(listener, self) is self or held.listeners:
            return
        del self._held[uri]
        self._give_up(uri, held)

    # What happens

    def updated(self, key: LinkKey, uri: str) -> None:
        rule = self._standing.address_rule(key.lane)
        withheld = rule is not None and rule.removes(uri)
        for wanted in _upwards(uri):
            held = self._held.get(wanted)
            if held is not None and held.key == key:
                # In a private session the server may not add anything to an address that a client may fetch.
                shown = wanted if withheld else uri
                for listener in held.listeners:
                    listener.updated(shown, wanted)

    def lost(self, link: Link) -> None:
        self._forget(lambda held: held.link is link)

    def moved(self) -> None:
        """What was subscribed to on a lane that is closed now is asked for by another, or over."""
        allows = self._standing.ratchet.allows
        self._forget(lambda held: held.key is not None and not allows(held.key.lane))

    def holds(self, key: LinkKey, uri: str) -> bool:
        held = self._held.get(uri)
        return held is not None and held.key == key

    async def close(self) -> None:
        self._held.clear()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    # What is done about it

    async def _subscribe(self, uri: str, held: Held) -> PageResult | ToolFailure:
        outcome = await self._executor.carry(self._standing, self._subscribing, Inquiry(uri, {}))
        if isinstance(outcome, ToolFailure):
            return outcome
        roster = self._standing.roster
        held.key, held.agreed = roster.key(self._standing.principal, outcome.server, outcome.lane), True
        if not held.listeners:
            # Nobody has waited for this.
            self._give_up(uri, held)
            return outcome
        held.link = roster.links.find(held.key)
        if held.link is None or not held.link.usable:
            self._forget(lambda each: each is held)
        return outcome

    def _give_up(self, uri: str, held: Held) -> None:
        news = self._standing.roster.news
        if held.key is None or held.link is None or not held.link.usable or news.others_hold(held.key, uri):
            return
        inquiry = Inquiry(uri, {}, server=held.key.server)
        self._start(self._executor.carry(self._standing, self._unsubscribing, inquiry))

    def _forget(self, over: Callable[[Held], bool]) -> None:
        lost = [held for held in self._held.values() if held.key is not None and over(held)]
        for held in lost:
            held.key = held.link = None
        if lost and (self._restoring is None or self._restoring.done()):
            self._restoring = self._start(self._restore())

    async def _restore(self) -> None:
        wait = FIRST_WAIT
        while lost := [uri for uri, held in self._held.items() if held.agreed and held.key is None]:
            if not any([await self._again(uri) for uri in lost]):
                continue
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _again(self, uri: str) -> bool:
        """Ask once more for what was lost. Whether that is to be tried yet again."""
        held = self._held.get(uri)
        if held is None or held.key is not None:
            return False
        outcome = await self._subscribe(uri, held)
        if not isinstance(outcome, ToolFailure):
            for listener in held.listeners:
                # Nothing was told of what happened in between.
                listener.updated(uri, uri)
            return held.key is None
        if outcome.kind in PASSING:
            return True
        self._held.pop(uri, None)
        return False

    def _start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()


def _upwards(uri: str) -> list[str]:
    """A URI, and those that it may be a part of: a server may tell of what lies below a resource."""
    found = [uri]
    rest = uri
    while "/" in rest:
        rest = rest.rpartition("/")[0]
        found += [rest + "/", rest]
        if len(found) > 64:
            break
    return [*dict.fromkeys(found)]


def _too_many() -> ToolFailure:
    message = f"an agent session may be subscribed to {MOST} resources at once"
    return ToolFailure(FailureKind.DENIED, LimitReached.code, message, fix="unsubscribe from some first")
