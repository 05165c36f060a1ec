"""The one path of a tool call, from its name to its recorded outcome."""

from collections.abc import Callable
from math import inf
from time import perf_counter as now

from bascule.catalog.checks import check_arguments, check_result
from bascule.catalog.entry import Entry
from bascule.compliance.labels import labelled_level
from bascule.core.call import ToolCall
from bascule.core.errors import (
    BasculeError,
    ConnectionLost,
    PeerError,
    PermitLost,
    ProtocolViolation,
    Refused,
    UsageError,
)
from bascule.core.events import ToolInvoked
from bascule.core.jsonvalue import JsonObject
from bascule.core.outcome import Outcome, ToolFailure
from bascule.core.sensitivity import Lane
from bascule.links.switchboard import Switchboard
from bascule.policy.decide import decide
from bascule.policy.verdict import Allow, Ask
from bascule.records.recorder import Recorder
from bascule.runtime.prepared import Prepared, prepare, with_own_arguments
from bascule.runtime.standing import Standing
from bascule.runtime.trail import Trail
from bascule.wire.reply import take_outcome

ROUNDS = 4
"""How often a call is decided anew before it is given up. A round is lost when the agent session changed, or the link
died, before anything was written; that this happens to one call again and again is no accident."""


class Executor:
    """Carries calls out. There is no other way to reach a server with one."""

    def __init__(self, links: Switchboard, recorder: Recorder, clock: Callable[[], float]) -> None:
        self._links = links
        self._record = recorder.record
        self._clock = clock

    async def call(self, standing: Standing, call: ToolCall) -> Outcome:
        """Always one outcome and one event. Only the caller's cancellation, or a mistake of ours, is an exception."""
        trail = Trail(call)
        try:
            outcome = await self._carry_out(standing, call, trail)
        except BasculeError as error:
            outcome = trail.failure(standing.mask_of(trail.server).error(error))
        except BaseException as end:
            # Cancellation, or a mistake of ours. It goes on to the caller as what it is, but not without a record.
            self._tell(standing, trail, trail.cut_short(end))
            raise
        self._tell(standing, trail, outcome)
        return outcome

    async def _carry_out(self, standing: Standing, call: ToolCall, trail: Trail) -> Outcome:
        """Resolve, check, decide, lease, look again, send, read. What changes before the write is decided anew."""
        entry = standing.known(call.name)
        if entry is None:
            # Linking takes a while, in which the caller may change what they passed.
            call = with_own_arguments(call)
            entry = await standing.resolve(call.name)
        prepared = self._check(entry, call, trail)
        lost: PeerError | None = None
        for _ in range(ROUNDS):
            permit = standing.ratchet.permit()
            key = standing.link_key(trail.server, self._decide(standing, entry, trail))
            link = self._links.ready(key) or await standing.roster.lease(key)
            trail.mark(("lease", now()))
            # Private data may have come in while we waited for the link.
            if not permit.valid():
                continue
            try:
                raw = await link.send(standing.request(prepared, permit))
            except PermitLost:
                continue
            except (ConnectionLost, ProtocolViolation) as error:
                # Once it may have been sent, sending it again could do its work twice.
                if error.sent:
                    raise
                lost = error
            else:
                return self._read(standing, entry, raw, trail)
        raise lost or Refused("the agent session kept changing before the call could be sent", rule="steady_session")

    def _check(self, entry: Entry, call: ToolCall, trail: Trail) -> Prepared:
        trail.server, trail.tool = entry.spec.key.server, entry.spec.key.tool
        trail.mark(("resolve", now()))
        if call.timeout is not None and not 0 < call.timeout < inf:
            raise UsageError(f"a timeout is a positive number of seconds, not {call.timeout}")
        prepared = prepare(entry, call, check_arguments(entry, call.arguments))
        trail.mark(("validate", now()))
        return prepared

    def _decide(self, standing: Standing, entry: Entry, trail: Trail) -> Lane:
        """The lane the call may take. Raises where it may take none."""
        lane = standing.allowed(entry)
        if lane is None:
            lane = self._ask_the_rules(standing, entry)
            standing.allow(entry, lane)
        trail.lane = lane
        trail.mark(("decide", now()))
        return lane

    def _ask_the_rules(self, standing: Standing, entry: Entry) -> Lane:
        verdict = decide(standing.facts(entry))
        if isinstance(verdict, Allow):
            return verdict.lane
        if isinstance(verdict, Ask):
            raise Refused(verdict.message, rule=verdict.rule, fix="nobody can be asked here")
        if not verdict.reveals:
            # To one who may not know of a tool, it must look as if there were none.
            raise standing.unknown(entry.spec.name)
        raise Refused(verdict.message, rule=verdict.rule, fix=verdict.fix)

    def _read(self, standing: Standing, entry: Entry, raw: JsonObject, trail: Trail) -> Outcome:
        trail.mark(("send", now()))
        trail.raw = raw
        # Before the reply is judged: what it says of itself counts also when it breaks its promises.
        if "_meta" in raw:
            self._learn(raw, trail)
        server = trail.server
        outcome = take_outcome(raw, server, trail.tool, trail.lane, trail.steps, standing.style_of(server))
        if isinstance(outcome, ToolFailure):
            outcome = standing.mask_of(server).failure(outcome)
        elif entry.results is not None:
            check_result(entry, raw)
        trail.mark(("read", now()))
        return outcome

    def _learn(self, raw: JsonObject, trail: Trail) -> None:
        """Take in how private a result says it is. No server is trusted to say so, hence the claim is a finding: one
        that lies could otherwise lock an agent session."""
        claimed = labelled_level(raw)
        if claimed is not None:
            trail.findings = (f"{trail.server} labels its result {claimed.name}, and is not trusted for labels",)

    def _tell(self, standing: Standing, trail: Trail, outcome: Outcome) -> None:
        self._record(
            ToolInvoked(
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
