"""The one path of a request, from what it names to its recorded outcome."""

from collections.abc import Callable
from math import inf
from time import perf_counter as now

from bascule.compliance.labels import labelled_level
from bascule.core.call import Inquiry, ToolCall
from bascule.core.errors import (
    BasculeError,
    ConnectionLost,
    PeerError,
    PermitLost,
    ProtocolViolation,
    Refused,
    UsageError,
)
from bascule.core.jsonvalue import JsonObject
from bascule.core.outcome import Result, ToolFailure
from bascule.core.sensitivity import Lane
from bascule.links.key import LinkKey
from bascule.links.link import Link
from bascule.links.pool import Pool
from bascule.policy.decide import decide
from bascule.policy.verdict import Allow, Ask
from bascule.records.recorder import Recorder
from bascule.runtime.answering import Answering
from bascule.runtime.input_rounds import next_round
from bascule.runtime.operation import AnyCall, AnyOperation, AnyResult, AnyTarget, Operation, Target
from bascule.runtime.prepared import Prepared, with_own_arguments
from bascule.runtime.repeating import in_time, to_repeat
from bascule.runtime.standing import Governed, Standing
from bascule.runtime.trail import Trail
from bascule.wire.input_required import INPUT_REQUIRED

ROUNDS = 4
"""How often a request is decided anew before it is given up. A round is lost when the agent session changed, or the
link died, before anything was written; that this happens to one request again and again is no accident."""


class Executor:
    """Carries requests out. There is no other way to reach a server with one."""

    def __init__(self, links: Pool, recorder: Recorder, clock: Callable[[], float], answering: Answering) -> None:
        self._links = links
        self._record = recorder.record
        self._clock = clock
        self._answering = answering

    async def carry(
        self, standing: Standing, operation: Operation[AnyCall, AnyTarget, AnyResult], call: AnyCall
    ) -> AnyResult | ToolFailure:
        """Always one outcome and one event. Only the caller's cancellation, or a mistake of ours, is an exception."""
        trail = Trail(call)
        try:
            outcome = await self._carry_out(standing, operation, call, trail)
        except BasculeError as error:
            outcome = trail.failure(standing.mask_of(trail.server).error(error))
        except BaseException as end:
            # Cancellation, or a mistake of ours. It goes on to the caller as what it is, but not without a record.
            self._tell(standing, operation, trail, trail.cut_short(end))
            raise
        finally:
            if trail.meter is not None:
                trail.meter.leave()
        self._tell(standing, operation, trail, outcome)
        return outcome

    async def _carry_out(
        self, standing: Standing, operation: Operation[AnyCall, AnyTarget, AnyResult], call: AnyCall, trail: Trail
    ) -> AnyResult | ToolFailure:
        """Resolve, check, decide, lease, look again, send, read. What changes before the write is decided anew."""
        target = operation.known(standing, call.name)
        if target is None:
            # Linking takes a while, in which the caller may change what they passed.
            call = with_own_arguments(call)
            target = await operation.find(standing, call)
        prepared = self._check(operation, target, call, trail)
        lost: PeerError | None = None
        left = ROUNDS
        while left:
            left -= 1
            permit = standing.ratchet.permit()
            key = standing.link_key(trail.server, self._decide(standing, operation, target, trail))
            link = self._links.borrow(key) or await in_time(
                self._lease(standing, operation, call, key), prepared.rounds, lost
            )
            try:
                trail.mark(("lease", now()))
                # Private data may have come in while we waited for the link.
                if not permit.valid():
                    continue
                raw = await link.send(standing.request(prepared, permit, trail.meter))
            except PermitLost:
                continue
            except (ConnectionLost, ProtocolViolation) as error:
                lost = error
                if error.sent and left:
                    # Once it may have been sent, sending it again could do its work twice.
                    prepared = to_repeat(standing, operation, target, prepared, trail, (link, error))
                continue
            finally:
                self._links.give_back(link)
            self._learn(raw, trail)
            if raw.get("resultType") != INPUT_REQUIRED or not operation.rounds:
                outcome = operation.read(standing, target, raw, trail)
                trail.mark(("read", now()))
                return outcome
            prepared, left = await next_round(self._answering, standing, prepared, trail), ROUNDS
        raise lost or Refused("the agent session kept changing before the call could be sent", rule="steady_session")

    async def _lease(self, standing: Standing, operation: AnyOperation, call: ToolCall | Inquiry, key: LinkKey) -> Link:
        """A link that was not at hand. Behind a new one may be another server, without the tool that was asked for."""
        link = await standing.roster.lease(key)
        try:
            if operation.of_tools and not standing.toolbox.has(call.name):
                await standing.resolve(call.name)
        except BaseException:
            self._links.give_back(link)
            raise
        return link

    def _check(self, operation: AnyOperation, target: Target, call: ToolCall | Inquiry, trail: Trail) -> Prepared:
        trail.server, trail.tool = target.spec.key.server, target.spec.key.tool
        trail.mark(("resolve", now()))
        if call.timeout is not None and not 0 < call.timeout < inf:
            raise UsageError(f"a timeout is a positive number of seconds, not {call.timeout}")
        prepared = operation.prepare(target, call)
        trail.mark(("validate", now()))
        return prepared

    def _decide(self, standing: Standing, operation: AnyOperation, target: Target, trail: Trail) -> Lane:
        """The lane the request may take. Raises where it may take none."""
        spec = target.spec
        lane = standing.allowed(spec)
        if lane is None:
            lane = self._ask_the_rules(standing, spec, of_tools=operation.of_tools)
            if operation.of_tools:
                standing.allow(spec, lane)
        trail.lane = lane
        # Once, however many rounds it takes; and last, so that a limit tells nobody of what they may not know of.
        if trail.meter is None and operation.counted:
            trail.meter = standing.admit(spec.key.server)
        trail.mark(("decide", now()))
        return lane

    def _ask_the_rules(self, standing: Standing, spec: Governed, *, of_tools: bool) -> Lane:
        verdict = decide(standing.facts(spec, of_tools=of_tools))
        if isinstance(verdict, Allow):
            return verdict.lane
        if isinstance(verdict, Ask):
            raise Refused(verdict.message, rule=verdict.rule, fix="nobody can be asked here")
        if not verdict.reveals:
            # To one who may not know of a tool, it must look as if there were none.
            raise standing.unknown(spec.name)
        raise Refused(verdict.message, rule=verdict.rule, fix=verdict.fix)

    def _learn(self, raw: JsonObject, trail: Trail) -> None:
        """Take in how private a result says it is, before the reply is judged: that counts also when it breaks its
        promises. No server is trusted to say so, hence the claim is a finding: one that lies could otherwise lock an
        agent session."""
        trail.mark(("send", now()))
        trail.raw = raw
        if "_meta" not in raw:
            return
        claimed = labelled_level(raw)
        if claimed is not None:
            finding = f"{trail.server} labels its result {claimed.name}, and is not trusted for labels"
            trail.findings = (*trail.findings, finding)

    def _tell(self, standing: Standing, operation: AnyOperation, trail: Trail, outcome: Result | ToolFailure) -> None:
        self._record(
            operation.event(
                trail.name,
                trail.server,
                standing.principal,
                trail.lane,
                outcome,
                trail.shapes,
                trail.steps,
                self._clock(),
                trail.findings,
            )
        )
