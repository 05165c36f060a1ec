"""Link: one supervised connection to one server, with the fallback from streamable HTTP to HTTP+SSE, and an event for
every change of its state. A single task owns it from opening to end; everyone else holds futures."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from random import getrandbits
from typing import Any

from bascule.core.errors import (
    BasculeError,
    ConnectFailed,
    ConnectionLost,
    LaneClosed,
    LoginNeeded,
    PeerError,
    PermitLost,
    SandboxError,
)
from bascule.core.events import LinkChanged
from bascule.core.json_types import JsonObject
from bascule.core.request import Leave, Permit, Request
from bascule.core.text.redaction import Mask
from bascule.store.deadline import StoreWait
from bascule.transports.dispatcher import Counters, Dispatcher, NoLeave, is_new_era, may_write, not_opened
from bascule.upstream.heartbeat import Heart
from bascule.upstream.key import LinkKey
from bascule.upstream.negotiation import ProbeKilled, WayRefused, negotiate, never_answered
from bascule.upstream.notifications import SUBSCRIBING, UNHEARD, Hears, Kind, Tidings
from bascule.upstream.server_requests import OnQuestion
from bascule.upstream.settings import Agreement, Era, Learned, Terms
from bascule.upstream.start_limiter import StartGate
from bascule.upstream.state import USABLE, Condition, LinkState, failed, in_use
from bascule.wire.request_meta import Stamp, new_stamp, old_stamp

Dial = Callable[[], Dispatcher]
Admit = Callable[["Link"], Awaitable[str]]
OnChange = Callable[["Link", Kind], None]
"""Told what a server says has changed, on which link. Must not block."""

_CLOSED = LinkState.CLOSED  # which every call asks for, and a global is found at once
TRIES_FOR_LEAVE = 3
"""How often a link is opened that found in the middle of it that nothing may be written now."""


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """How a link is made. `admit` is run before the link counts as ready; what it returns, if anything, is why the link
    is degraded."""

    key: LinkKey
    terms: Terms
    dial: Dial
    admit: Admit
    mask: Mask = field(default_factory=Mask)
    """Keeps the server's secrets out of why a link failed."""
    older: Dial | None = None
    """Another way to the server, usual before the protocol had the first. Tried where that one is turned away."""
    answer: OnQuestion | None = None
    """Answers what the server asks of us. Without it, everything is refused."""
    on_change: OnChange | None = None
    """Told of changes at the server. Without it, nobody listens for them."""
    hears: Hears = UNHEARD
    leave: Leave | None = None
    """Leave to write for all that the link says, on its own account or on somebody's."""

    def by_older_way(self) -> "LinkPlan":
        """The plan without the way that is known to lead nowhere."""
        return self if self.older is None else replace(self, dial=self.older, older=None)


class Link:
    """A link and its owner task. It can be closed from any task, at any time, twice; `opened` settles once."""

    def __init__(self, plan: LinkPlan, gate: StartGate, era: Era, changed: Callable[["Link"], None]) -> None:
        self.key = plan.key
        self.condition = Condition(LinkState.CONFIGURED)
        self.agreement: Agreement | None = None
        self.stamp: Stamp = old_stamp("")
        self.listed: Any = None
        """What the link found when it was admitted, for whoever opened it to take."""
        self.first_start = True
        self.older_way = False
        """Whether the way that was usual before is the one that led to the server."""
        self.retired = ""
        """Why the link was ended, if it was not simply closed."""
        self._in_use = False
        self._plan = plan
        self._gate = gate
        self._era: Era = era
        self._changed = changed
        self._dispatcher: Dispatcher | None = None
        self.ready_at: float | None = None
        """When it was ready, by the loop's clock."""
        self._tidings: Tidings | None = None
        self._past_kind, self._past_counters, self._past_evidence = "", Counters(), ""
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = loop.create_future()
        self._closing: asyncio.Future[str] = loop.create_future()
        self._owner: asyncio.Task[None] | None = None

    @property
    def usable(self) -> bool:
        # The dispatcher knows of a death one loop step before the owner does.
        return self._in_use and self._dispatcher is not None and not self._dispatcher.lost.done()

    @property
    def settled(self) -> bool:
        """Whether it is known if the link opened."""
        return self._opened.done()

    @property
    def ended(self) -> bool:
        return self._owner is not None and self._owner.done()

    @property
    def kind(self) -> str:
        """The kind of transport that is spoken, once one is."""
        return self._dispatcher.kind if self._dispatcher is not None else self._past_kind

    @property
    def lived(self) -> float | None:
        """Seconds for which it was of use, once it no longer is."""
        if self.ready_at is None or self._in_use:
            return None
        return asyncio.get_running_loop().time() - self.ready_at

    @property
    def learned(self) -> Learned:
        """What the link has shown about its server."""
        # Servers of the new era are asked first anyway; only the old era's answer saves a question.
        old = self.agreement is not None and not is_new_era(self.agreement.version)
        return Learned("old" if old else "auto", self.older_way)

    @property
    def counters(self) -> Counters:
        return self._dispatcher.counters if self._dispatcher is not None else self._past_counters

    @property
    def terms(self) -> Terms:
        return self._plan.terms

    def start(self, over: Callable[["Link"], None] | None = None) -> None:
        """Begin to open. `over` is called once nothing of the link is left."""
        self._owner = asyncio.create_task(self._own(), name=f"link {self.key.server}")
        if over is not None:
            self._owner.add_done_callback(lambda _: over(self))

    async def opened(self) -> None:
        """Wait until the link is ready. Raises why it is not."""
        await asyncio.shield(self._opened)

    def send(self, request: Request) -> Awaitable[JsonObject]:
        """Send with the mark of the link's era."""
        dispatcher = self._dispatcher
        if dispatcher is None or self.condition.state is _CLOSED:
            raise ConnectionLost("the link is not open", sent=False)
        stamp, tidings, on_notice = self.stamp, self._tidings, request.on_notice
        if tidings is not None:
            if stamp.envelope and request.method in SUBSCRIBING:
                return tidings.subscribe(request)
            if request.ear is not None:
                on_notice = tidings.heard_by(request.ear)
                stamp = stamp.heard_from(request.ear.level)
        headers = request.headers
        if stamp.envelope and dispatcher.carries_headers:
            marked = stamp.headers(request.method, request.params)
            headers = {**marked, **headers} if headers else marked
        return dispatcher.send(
            Request(
                request.method,
                stamp.params_of(request, getrandbits),
                request.timeout,
                request.phase,
                request.permit,
                request.on_progress,
                headers,
                request.cancel_on_abandon,
                request.tally,
                on_notice=on_notice,
            )
        )

    async def notify(self, method: str, permit: Permit | None) -> None:
        """Sends a notification on a link that was ready once, under the leave of the link and this permit."""
        if self._dispatcher is None:
            raise ConnectionLost("the link is not open", sent=False)
        await self._dispatcher.notify(method, permit=permit)

    def restate(self, shortcoming: str) -> None:
        """Take in what is wrong with the server's tools since they were listed anew, or no longer is."""
        condition = in_use(shortcoming)
        if self._in_use and condition != self.condition:
            self._become(condition)

    def evidence(self) -> str:
        return self._dispatcher.evidence() if self._dispatcher is not None else self._past_evidence

    async def close(self, reason: str = "closed") -> None:
        """End the link and wait until nothing of it is left."""
        if not self._closing.done():
            self._closing.set_result(reason)
        await self.over()

    async def over(self) -> None:
        """Wait until nothing of it is left, or nothing more can be done about it."""
        if self._owner is not None:
            await asyncio.wait((self._owner,))

    @property
    def remains(self) -> SandboxError | None:
        """Why something of it may still run although it is over, if so."""
        ended = self._owner is not None and self._owner.done() and not self._owner.cancelled()
        error = self._owner.exception() if self._owner is not None and ended else None
        return error if isinstance(error, SandboxError) else None

    def retire(self, reason: str) -> None:
        """End the link without waiting for it. Whoever still uses it, or waits for it, is told why."""
        self.retired = self.retired or reason
        if self._dispatcher is not None:
            self._dispatcher.lose(ConnectionLost(self.retired))
        if not self._closing.done():
            self._closing.set_result(reason)

    def revoke(self, reason: str) -> bool:
        """End the requests whose permit is no longer valid, and no others. Whether the link may go on."""
        return self._dispatcher is None or self._dispatcher.revoke(LaneClosed(reason))

    def sever(self, reason: str) -> None:
        """End the link so that nothing at all is written on it from this step on, not even a farewell."""
        self.retired = self.retired or reason
        if self._dispatcher is not None:
            self._dispatcher.sever(LaneClosed(reason))
        if not self._closing.done():
            self._closing.set_result(reason)

    async def _own(self) -> None:
        """The link's whole life. Only this task opens and closes the connection."""
        opening = asyncio.create_task(self._open())
        try:
            await asyncio.wait((opening, self._closing), return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                opening.cancel()
                await asyncio.wait((opening,))
            end = self._closed() if opening.cancelled() else await self._serve(opening)
            self._become(end)
            # Told before the cleaning up: a server that must be killed would make everyone wait for its end.
            why = self.retired or "the link was closed before it was ready"
            self._settle_opened(end.error or ConnectFailed(why))
        except BaseException as bug:
            # Whoever waits for the link must not wait for ever because of a mistake of ours.
            self._become(Condition(LinkState.FAILED, f"ended by {type(bug).__name__}"))
            self._settle_opened(bug)
            raise
        finally:
            opening.cancel()
            if self._tidings is not None:
                await self._tidings.end()
            try:
                await self._release()
            finally:
                self._detach()

    def _detach(self) -> None:
        """Drops the connection, and keeps what is still reported of it. The pool keeps an ended link for as long as its
        agent session is in memory; with its connection, the process handles and tasks, it would take 50 KB."""
        dispatcher, self._dispatcher, self._tidings = self._dispatcher, None, None
        if dispatcher is not None:
            self._past_kind, self._past_counters = dispatcher.kind, dispatcher.counters
            self._past_evidence = dispatcher.evidence()

    async def _serve(self, opening: "asyncio.Task[str]") -> Condition:
        """From the end of opening to the end of the link; returns why it ended."""
        error = opening.exception()
        if self._closing.done() and (error is None or isinstance(error, BasculeError)):
            return self._closed()
        if isinstance(error, BasculeError):
            return failed(self._plan.mask.error(self._not_opened(error)))
        self._become(in_use(opening.result()))
        self._opened.set_result(None)
        self.ready_at = asyncio.get_running_loop().time()
        assert self._dispatcher is not None
        lost = self._dispatcher.lost
        terms = self._plan.terms
        heart = Heart(self._dispatcher, self.send, self.stamp, terms.interval, terms.stale_after)
        death = await heart.watch(self._closing)
        if self._closing.done():
            return self._closed()
        return failed(self._plan.mask.error(death or lost.result()))

    async def _open(self) -> str:
        self._become(Condition(LinkState.CONNECTING))
        wait = StoreWait()
        for _ in range(TRIES_FOR_LEAVE - 1):
            with wait.shared():
                await self.regain()
            try:
                return await self._open_once()
            except NoLeave:
                # It ran out on the way, because this process was busy or asleep.
                await self._release()
        with wait.shared():
            await self.regain()
        return await self._open_once()

    async def regain(self, refused: PermitLost | None = None) -> None:
        """See that there is leave to write, where that can be. Raises `NoLeave` where something was refused, and still
        would be."""
        if self._plan.leave is not None:
            await self._plan.leave.regain()
        if refused is not None and not may_write(self._plan.leave):
            raise not_opened(refused) from refused

    async def _open_once(self) -> str:
        terms = self._plan.terms
        limit = terms.connect if self.first_start else terms.reconnect
        try:
            self.agreement = await self._agree_by_first_way(limit)
        except WayRefused as refused:
            if self._plan.older is None:
                raise
            await self._release()
            self.agreement = await self._agree_by_older_way(limit, refused)
        version = self.agreement.version
        if is_new_era(version):
            self.stamp = new_stamp(version, terms.client_info, terms.capabilities, terms.log_level)
        else:
            self.stamp = old_stamp(version)
            self._listen_to_questions()
        await self._listen_for_changes(self.agreement)
        return await self._plan.admit(self)

    async def _agree_by_first_way(self, limit: float) -> Agreement:
        try:
            return await self._agree(self._plan.dial, limit, self._era)
        except ProbeKilled:
            # Some old servers die of a method they do not know. A new one, asked in the old words, may live.
            await self._release()
            return await self._agree(self._plan.dial, limit, "old")

    async def _agree_by_older_way(self, limit: float, refused: WayRefused) -> Agreement:
        assert self._plan.older is not None
        try:
            agreement = await self._agree(self._plan.older, limit, "old")
        except LoginNeeded:
            raise
        except PeerError as error:
            raise neither_way(refused, error) from error
        self.older_way = True
        return agreement

    def _listen_to_questions(self) -> None:
        """Only servers of the old era send requests of their own; those of the new one ask in their results."""
        assert self._dispatcher is not None
        if self._plan.answer is not None:
            self._dispatcher.on_request = partial(self._plan.answer, self)

    async def _listen_for_changes(self, agreement: Agreement) -> None:
        if self._plan.on_change is not None:
            assert self._dispatcher is not None
            tell = partial(self._plan.on_change, self)
            self._tidings = Tidings(self._dispatcher, self.send, agreement, tell, self.key, self._plan.hears)
            await self._tidings.begin()

    async def tune(self) -> None:
        """Ask the server to remark as much as is wanted by now."""
        if self._tidings is not None and self.usable:
            await self._tidings.tune()

    async def _agree(self, dial: Dial, limit: float, era: Era) -> Agreement:
        """Connect and negotiate. Waiting for our turn to start is not counted against the server."""
        async with self._gate.turn() as started:
            if self._closing.done():
                # What was dialled now would know nothing of the end.
                raise ConnectFailed(self._closing.result())
            self._dispatcher = dispatcher = dial()
            dispatcher.leave = self._plan.leave
            started(dispatcher)
            await dispatcher.open()
        try:
            async with asyncio.timeout(limit):
                return await negotiate(dispatcher, self._plan.terms, era)
        except PermitLost as refused:
            raise not_opened(refused) from refused
        except TimeoutError:
            silence = never_answered(dispatcher.kind, limit)
            raise ConnectFailed(silence.message, where="connect", cause=silence.cause, fix=silence.fix) from None

    async def _release(self) -> None:
        if self._dispatcher is not None:
            await self._dispatcher.close(self._plan.terms.close)

    def _not_opened(self, error: BasculeError) -> ConnectFailed:
        """A failure to open, with what the server itself said beside it."""
        said = self.evidence()
        evidence = f"{error.evidence}\n{said}".strip() if said and said not in error.evidence else error.evidence
        if isinstance(error, ConnectFailed):
            error.evidence = evidence
            return error
        fix = error.fix or "run its command in a terminal to see what it says"
        return ConnectFailed(error.message, where=error.where, evidence=evidence, cause=error.cause, fix=fix)

    def _closed(self) -> Condition:
        return Condition(LinkState.CLOSED, self.retired or self._closing.result())

    def _become(self, condition: Condition) -> None:
        self.condition = condition
        self._in_use = condition.state in USABLE
        self._changed(self)

    def _settle_opened(self, error: BaseException) -> None:
        if not self._opened.done():
            self._opened.set_exception(error)
            # Nobody may be waiting: a link can be opened ahead of need.
            self._opened.exception()


class Announcer:
    """Publishes every change of a link's state as an event."""

    def __init__(
        self,
        tell: Callable[[LinkChanged], None],
        clock: Callable[[], float],
        then: Callable[[Link], None] | None = None,
    ) -> None:
        """`then` is given the link itself, once the event is told."""
        self._tell = tell
        self._clock = clock
        self._then = then

    def __call__(self, link: Link) -> None:
        key, condition = link.key, link.condition
        code = condition.error.code if condition.error is not None else ""
        told = (condition.state, condition.reason, self._clock(), code, link.lived)
        self._tell(LinkChanged(key.server, key.lane, key.principal, *told))
        if self._then is not None:
            # In a step of its own: what comes of it is no part of what the link does.
            asyncio.get_running_loop().call_soon(self._then, link)


def neither_way(first: PeerError, older: PeerError) -> ConnectFailed:
    """Two ways were tried, and both are told: which of them was meant is the operator's to say."""
    told = f"streamable HTTP: {first.message} ({first.evidence})\nHTTP+SSE: {older.message}"
    return ConnectFailed(
        "the server speaks neither streamable HTTP nor HTTP+SSE at this URL",
        where=older.where,
        evidence=f"{told} ({older.evidence})" if older.evidence else told,
        cause=older.cause or "the path of the URL is not the one at which the server speaks MCP",
        fix="check the path of the URL: many servers listen at /mcp, older ones at /sse",
    )
