"""Executor: the one path of every request, from the name in it to its recorded outcome."""

from collections.abc import Callable
from math import inf
from time import perf_counter as now
from typing import TYPE_CHECKING

import msgspec

from bascule.core.call import Inquiry, ToolCall
from bascule.core.errors import (
    BasculeError,
    ConnectionLost,
    OutcomeWithheld,
    PeerError,
    PermitLost,
    ProtocolViolation,
    UsageError,
)
from bascule.core.events import ToolInvoked
from bascule.core.json_types import JsonObject
from bascule.core.outcome import Result, ToolFailure
from bascule.core.permission import READING
from bascule.core.request import Permit, Request
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolStatus
from bascule.core.undo.transaction import CURRENT, Ending, Remote
from bascule.records.recorder import Recorder
from bascule.runtime.call_state import Trail
from bascule.runtime.delivery import delivered
from bascule.runtime.execution.authorization import Terms, withheld
from bascule.runtime.execution.input_rounds import go_on, next_round
from bascule.runtime.execution.retries import in_store_time, in_time, look_again, not_sent, to_repeat
from bascule.runtime.execution.rollback import Undoing, settle
from bascule.runtime.prepared_call import Prepared, values_of, with_own_arguments
from bascule.runtime.requests.operation import AnyCall, AnyOperation, AnyResult, AnyTarget, Operation, Target
from bascule.runtime.result_limits import limited_outcome
from bascule.runtime.server_requests.handler import Answering
from bascule.runtime.session_context import Governed, Standing
from bascule.sensitivity.ratchet import EpochPermit
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link
from bascule.upstream.pool import Pool
from bascule.wire.input_required import INPUT_REQUIRED

if TYPE_CHECKING:
    from bascule.records.telemetry.telemetry import Telemetry
    from bascule.runtime.execution.wrappers import Wrapping

# To find a member in its enum takes Python 3.11 ten times as long as a name of the module, and every call does.
_WAITING, _NONE = Ending.WAITING, Remote.NONE

ROUNDS = 4
"""Limit of rounds in which a request is decided again. A round is lost when the agent session changed, or the
link died, before anything was written; that this happens to one request again and again is no accident. If only the
lease has lapsed, one more round follows the next poll of the store."""


class Executor:
    """Carries requests out. There is no other way to reach a server with one."""

    def __init__(
        self,
        links: Pool,
        recorder: Recorder,
        clock: Callable[[], float],
        answering: Answering,
        terms: Terms,
    ) -> None:
        self._links = links
        self._record = recorder.record
        self._audit = recorder.audit
        self._clock = clock
        self.answering = answering
        self._terms = terms
        self._raising = terms.raising
        self._lease = terms.raising.fence.lease
        self.undoing = Undoing(recorder.record, clock)
        self.natives = frozenset[str]()
        """Servers that are functions of this program."""
        self.wrapping: Wrapping | None = None
        self.telemetry: Telemetry | None = None
        self.under_way: dict[Trail, tuple[Standing, AnyOperation]] | None = None
        """Requests that have not ended yet, where somebody wants to see them."""

    async def carry(
        self, standing: Standing, operation: Operation[AnyCall, AnyTarget, AnyResult], call: AnyCall
    ) -> AnyResult | ToolFailure:
        """Always one outcome and one event. Only the caller's cancellation, or a mistake of ours, is an exception."""
        trail = Trail(call, standing.workspace)
        if self.telemetry is not None or self.under_way is not None:
            self._watch(standing, operation, trail)
        # Whatever is done in the course of this call, here or in a server object, is a part of it.
        around = CURRENT.get()
        CURRENT.set(trail.changes)
        try:
            try:
                if not standing.ratchet.known:
                    # That takes a while, in which the caller may change what they passed.
                    call = with_own_arguments(call)
                    await in_store_time(trail, self._raising.begin(standing.principal))
                outcome = await self._carry_out(standing, operation, call, trail)
            except BasculeError as error:
                outcome = await self._failure(standing, error, trail)
            if trail.withholding is not None or trail.changes.parts or trail.doubt is not None:
                await self._finish(standing, trail, ok=outcome.ok)
            # In the step of the return: the level may have been raised during any wait before.
            outcome = delivered(standing, outcome, trail)
        except BaseException as end:
            # Cancellation, or a mistake of ours. It goes on to the caller as what it is, but not without a record.
            self._terms.assume(standing, trail)
            self.undoing.give_up(standing.principal, trail)
            self.tell(standing, operation, trail, trail.cut_short(end))
            raise
        finally:
            CURRENT.set(around)
            trail.changes.over = trail.local is not _WAITING
            if trail.meter is not None:
                trail.meter.leave()
            if self.telemetry is not None or self.under_way is not None:
                self._unwatch(trail)
        self.tell(standing, operation, trail, outcome)
        return outcome

    def _watch(self, standing: Standing, operation: AnyOperation, trail: Trail) -> None:
        if self.telemetry is not None:
            trail.span = self.telemetry.begin()
        if self.under_way is not None:
            self.under_way[trail] = (standing, operation)

    def _unwatch(self, trail: Trail) -> None:
        if self.telemetry is not None and trail.span is not None:
            self.telemetry.leave(trail.span)
        if self.under_way is not None:
            # It may have begun before somebody wanted to see such.
            self.under_way.pop(trail, None)

    async def _failure(self, standing: Standing, error: BasculeError, trail: Trail) -> ToolFailure:
        """What went wrong, once it may be seen."""
        settle(error, trail)
        told = await self._terms.learn(standing, error, trail)
        if isinstance(told, OutcomeWithheld):
            trail.withholding = None
        mask = standing.mask_of(trail.server)
        # A reply that was not believed is kept beside it, and may say anything.
        return mask.failure(trail.failure(mask.error(told)))

    async def _finish(self, standing: Standing, trail: Trail, *, ok: bool) -> None:
        """See to what must be done before anybody sees the outcome."""
        if trail.withholding is not None:
            await trail.withholding.release()
        if trail.changes.parts or trail.doubt is not None:
            await self.undoing.end(standing.principal, trail, ok=ok)

    async def _carry_out(
        self, standing: Standing, operation: Operation[AnyCall, AnyTarget, AnyResult], call: AnyCall, trail: Trail
    ) -> AnyResult | ToolFailure:
        """Resolve, check, get a reply, learn from it, read it. A server that wants answers first is asked again."""
        target = operation.known(standing, call.name)
        if target is None:
            # So does linking.
            call = with_own_arguments(call)
            target = await operation.find(standing, call)
        prepared = self._check(operation, target, call, trail)
        if trail.respondent is not None and trail.respondent.continued is not None:
            prepared = await go_on(self.answering, standing, prepared, trail)
        if self.wrapping is not None and operation.wrapped and (wrapper := self.wrapping.around(target.spec)):
            # What it asks for comes this way in its turn. Of what may not be had at all, it does not hear.
            self._terms.refuse(standing, target.spec, prepared)
            outcome = await self.wrapping.run(wrapper, standing, target, prepared, trail, self.carry)
            trail.mark(("wrapper", now()))
            return outcome
        while True:
            raw, prepared = await self._reply(standing, operation, target, (call, prepared), trail)
            trail.mark(("send", now()))
            trail.unread = trail.doubt = None
            trail.answered = True
            # Before the reply is judged: what it says of itself counts also when it breaks its promises.
            if "_meta" in raw or operation.follows:
                await self._terms.take_in(standing, operation, raw, trail)
            # Not earlier: a failure shows it, and what could not be learned must not be shown.
            trail.raw = raw
            if raw.get("resultType") != INPUT_REQUIRED or not operation.rounds:
                outcome = operation.read(standing, target, raw, trail)
                trail.mark(("read", now()))
                if trail.preset is not None:
                    return await limited_outcome(standing, outcome, trail.preset)
                return outcome
            prepared = await next_round(self.answering, standing, operation, prepared, trail)

    async def _reply(
        self,
        standing: Standing,
        operation: AnyOperation,
        target: Target,
        asked: tuple[ToolCall | Inquiry, Prepared],
        trail: Trail,
    ) -> tuple[JsonObject, Prepared]:
        """Decide, lease, look again, send. What changes before the write is decided anew. With the reply comes what was
        sent for it."""
        call, prepared = asked
        lost: PeerError | None = None
        epoch = standing.ratchet.epoch
        for left in range(ROUNDS, -1, -1):
            if not left:
                await look_again(self._raising.fence, standing, epoch, prepared, trail, lost)
            way = self._at_hand(standing, operation, target.spec, prepared, trail) or await self._way(
                standing, operation, target.spec, (call, prepared), trail, lost
            )
            if way is None:
                continue
            link, permit = way
            try:
                written = self._write_down(standing, target.spec, prepared, permit, trail)
                request = self._request(standing, operation, target.spec, prepared, written, trail)
                self.undoing.begin(standing, target.spec, link, trail)
                by, answers = trail.respondent, self.answering
                sending = link.send(request) if by is None else answers.attend(link, request, by, tasks=operation.tasks)
                return await sending, prepared
            except PermitLost:
                trail.unread = trail.doubt = None
            except (ConnectionLost, ProtocolViolation) as error:
                lost = error
                if not error.sent:
                    trail.unread = trail.doubt = None
                elif left > 1:
                    # Once it may have been sent, sending it again could do its work twice.
                    prepared = to_repeat(standing, operation, target, prepared, trail, (link, error))
                    await self._terms.learn(standing, error, trail)
                    # Else what comes next would have taken the time for which its server was at it.
                    trail.mark(("send", now()))
            finally:
                self._links.give_back(link)
        raise lost or not_sent(standing, epoch)

    def _at_hand(
        self, standing: Standing, operation: AnyOperation, spec: Governed, prepared: Prepared, trail: Trail
    ) -> tuple[Link, EpochPermit] | None:
        """Fast path of most calls, which waits for nothing: a remembered verdict, and a link that is ready."""
        lane = standing.allowed(spec) if self._lease.valid() else None
        if lane is None or (standing.each_call and not standing.recheck(spec, prepared)):
            return None
        link = self._links.borrow(self._admit(standing, operation, spec, lane, trail))
        if link is None:
            return None
        trail.mark(("lease", now()))
        if trail.span is not None:
            trail.span.version, trail.span.transport = link.stamp.version, link.kind
        return link, standing.ratchet.permit()

    async def _way(
        self,
        standing: Standing,
        operation: AnyOperation,
        spec: Governed,
        asked: tuple[ToolCall | Inquiry, Prepared],
        trail: Trail,
        lost: PeerError | None,
    ) -> tuple[Link, EpochPermit] | None:
        """By which link it may be sent, and the permit for it. None, if what was decided no longer holds."""
        call, prepared = asked
        permit = standing.ratchet.permit()
        lane = standing.allowed(spec) if self._lease.valid() and not standing.each_call else None
        if lane is None:
            lane = await self._terms.settle(standing, operation, spec, prepared, trail)
            # That may have taken a while: a person was asked, or the level was raised.
            if not permit.valid():
                return None
        key = self._admit(standing, operation, spec, lane, trail)
        link = await in_time(self._lend(standing, operation, call, key, permit), prepared.rounds, lost)
        trail.mark(("lease", now()))
        if link is None:
            return None
        if not permit.valid():
            # Private data has come in while we waited for the link.
            self._links.give_back(link)
            return None
        if trail.span is not None:
            trail.span.version, trail.span.transport = link.stamp.version, link.kind
        return link, permit

    async def _lend(
        self, standing: Standing, operation: AnyOperation, call: ToolCall | Inquiry, key: LinkKey, permit: EpochPermit
    ) -> Link | None:
        """A link that was not at hand; none, if its lane was closed meanwhile. Behind a new one may be another server,
        without the tool that was asked for, or with one that nobody has approved."""
        try:
            link = await standing.roster.lease(key)
        except BasculeError:
            if permit.valid():
                raise
            # Its lane was closed while it opened.
            return None
        try:
            if operation.of_tools:
                toolbox, name = standing.toolbox, call.name
                entry = toolbox.resolve(name) if toolbox.has(name) else await standing.resolve(name)
                if entry.spec.status is not ToolStatus.EXPOSED:
                    self._terms.refuse(standing, entry.spec)
        except BaseException:
            self._links.give_back(link)
            raise
        return link

    def _write_down(
        self, standing: Standing, spec: Governed, prepared: Prepared, permit: EpochPermit, trail: Trail
    ) -> Permit:
        """Once, however many rounds it takes. What may change something, or reach out, is in the audit log before its
        bytes are handed over: its permit sees to that. Raises `NotWrittenDown`."""
        audit, first = self._audit, not spec.permissions <= READING
        if audit is None:
            return permit
        if trail.noted:
            if first:
                audit.ensure(trail.noted)
            return permit
        values = standing.mask_of(trail.server).value(values_of(prepared)) if audit.whole else None
        trail.noted = audit.sending(standing.principal, trail, prepared.method, first=first, values=values)
        return audit.permit(permit, trail.noted) if first else permit

    def _request(
        self,
        standing: Standing,
        operation: AnyOperation,
        spec: Governed,
        prepared: Prepared,
        permit: Permit,
        trail: Trail,
    ) -> Request:
        """What is sent. From here on it may bring private data, also if nothing of it can be read."""
        trail.unread = standing.unread(spec, of_tools=operation.of_tools)
        if trail.unread is not None:
            prepared = withheld(standing, prepared, trail)
        trace = None if trail.span is None else trail.span.context
        return standing.request(prepared, permit, trail.meter, trace)

    def _check(self, operation: AnyOperation, target: Target, call: ToolCall | Inquiry, trail: Trail) -> Prepared:
        trail.spec = target.spec
        trail.server, trail.tool = target.spec.key.server, target.spec.key.tool
        trail.mark(("resolve", now()))
        if call.timeout is not None and not 0 < call.timeout < inf:
            raise UsageError(f"a timeout is a positive number of seconds, not {call.timeout}")
        prepared = trail.prepared = operation.prepare(target, call)
        trail.agreed = operation.follows
        trail.mark(("validate", now()))
        return prepared

    def _admit(self, standing: Standing, operation: AnyOperation, spec: Governed, lane: Lane, trail: Trail) -> LinkKey:
        """Which link it takes. It counts as begun from here on."""
        server = spec.key.server
        trail.lane = lane
        if operation.follows:
            self._terms.keep_lane(lane, trail)
        # Once, however many rounds it takes; and last, so that a limit tells nobody of what they may not know of.
        if trail.meter is None and operation.counted:
            trail.meter = standing.admit(server)
        trail.mark(("decide", now()))
        return standing.link_key(server, lane)

    def tell(self, standing: Standing, operation: AnyOperation, trail: Trail, outcome: Result | ToolFailure) -> None:
        """Record how a request ended."""
        audit, prepared = self._audit, trail.prepared
        if audit is not None and audit.whole and not trail.noted and prepared is not None:
            values = standing.mask_of(trail.server).value(values_of(prepared))
            trail.noted = audit.asked(standing.principal, trail, prepared.method, values)
        event = operation.event(
            trail.name,
            trail.server,
            standing.principal,
            trail.lane,
            outcome,
            trail.shapes,
            trail.steps,
            self._clock(),
            trail.findings,
            trail.local,
            trail.remote(ok=type(outcome) is not ToolFailure) if trail.writes else _NONE,
            now() - trail.steps.started,
            trail.rule,
            trail.noted,
            span=trail.span,
        )
        if (trail.native or trail.server in self.natives) and isinstance(event, ToolInvoked):
            event = msgspec.structs.replace(event, source="native")
        self._record(event)
