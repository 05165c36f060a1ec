"""Authorization of a request: policy rules, approval by a person, and raises of the sensitivity level, before it is
sent and before its outcome is returned."""

from time import perf_counter as now

import msgspec

from bascule.core.errors import BasculeError, OutcomeWithheld, Refused
from bascule.core.json_types import JsonObject, as_object, is_object
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.policy.facts import Facts
from bascule.policy.verdict import Ask, Refusal
from bascule.runtime.approvals.ask import Asking
from bascule.runtime.call_state import Trail
from bascule.runtime.execution.retries import in_store_time
from bascule.runtime.levels.raising import Raising
from bascule.runtime.prepared_call import Prepared, values_of
from bascule.runtime.progress_buffer import Withholding
from bascule.runtime.requests.operation import AnyOperation
from bascule.runtime.sensitivity_rules import LABEL, RULE, UNREAD, cause_of, learned, learned_from
from bascule.runtime.session_context import Governed, Standing


class Terms:
    """Decides, asks and raises on behalf of the executor. What every call needs is remembered; this is the rest."""

    def __init__(self, raising: Raising, asking: Asking) -> None:
        self.raising = raising
        self._asking = asking

    async def settle(
        self, standing: Standing, operation: AnyOperation, spec: Governed, prepared: Prepared, trail: Trail
    ) -> Lane:
        """The lane a request may take. Raises where it may take none. What the operator says it raises to is raised
        before it is sent, unless it would not be sent at all then: nothing was seen yet."""
        if not self.raising.fence.lease.valid():
            await in_store_time(trail, self.raising.fence.renew())
        of_tools = operation.of_tools
        level = standing.ruled(spec) if of_tools else DataSensitivity.PUBLIC
        # Not its level, which may be on its way: what this call brings must wait until that is kept and fenced too.
        raised = level > standing.ratchet.settled
        facts = standing.facts(spec, of_tools=of_tools, agreed=trail.agreed, at_least=level, prepared=prepared)
        lane, asked = await self._decided(standing, facts, prepared, trail)
        if raised:
            await self.raising.raise_to(standing.principal, level, cause_of(RULE, trail))
        elif of_tools and not asked:
            standing.allow(spec, lane)
        return lane

    def refuse(self, standing: Standing, spec: Governed, prepared: Prepared | None = None) -> None:
        """Raises where the rules refuse a tool, or one call of it, without asking for an approval."""
        facts = standing.facts(spec, prepared=prepared)
        verdict = standing.decide(facts)
        if isinstance(verdict, Refusal):
            raise _refused(standing, facts, verdict)

    async def take_in(self, standing: Standing, operation: AnyOperation, raw: JsonObject, trail: Trail) -> None:
        """Learn what a reply says of itself, and see that it holds, before anybody sees the reply. What a task has
        brought says it of itself, inside the reply."""
        server = standing.config(trail.server)
        parts = (raw, raw.get("result"), as_object(raw.get("error")).get("data")) if operation.follows else (raw,)
        levels = [level for part in parts if is_object(part) and (level := learned(server, part, trail)) is not None]
        if levels:
            await self.raising.raise_to(standing.principal, max(levels), cause_of(LABEL, trail))

    def keep_lane(self, lane: Lane, trail: Trail) -> None:
        """Raises where a task would be asked after on another lane than it was begun on: there it is nobody's, or
        somebody else's."""
        begun = trail.prepared.lane if trail.prepared is not None else None
        if begun is not lane:
            raise Refused(
                f"the task of {trail.server}/{trail.tool} was begun on the {begun} lane, which was left since",
                rule="task_keeps_its_lane",
                fix="call the tool again",
            )

    async def learn(self, standing: Standing, error: BasculeError, trail: Trail) -> BasculeError:
        """Learn what a failure may hide, before anybody is told of it. What is to be told."""
        level, by = learned_from(standing.roster.servers.get(trail.server), error, trail)
        trail.unread = None
        if level is None:
            return error
        try:
            await self.raising.raise_to(standing.principal, level, cause_of(by, trail))
        except OutcomeWithheld as withheld:
            return withheld
        return error

    def assume(self, standing: Standing, trail: Trail) -> None:
        """The same where nobody waits any more: at once, and the rest is seen to."""
        if trail.unread is not None and trail.unread > standing.ratchet.settled:
            self.raising.start(standing.principal, trail.unread, cause_of(UNREAD, trail))

    async def _decided(self, standing: Standing, facts: Facts, prepared: Prepared, trail: Trail) -> tuple[Lane, bool]:
        verdict = standing.decide(facts)
        if isinstance(verdict, Ask):
            # What is shown is what will be sent. The caller's own may be other ones by now.
            arguments = values_of(prepared)
            try:
                await self._asking.agree(verdict, (facts.name, *_parts(facts)), standing.principal, arguments)
            finally:
                trail.mark(("ask", now()))
            trail.agreed = True
            return facts.lane, True
        if isinstance(verdict, Refusal):
            trail.rule = verdict.rule
            raise _refused(standing, facts, verdict)
        return verdict.lane, trail.agreed


def _refused(standing: Standing, facts: Facts, refusal: Refusal) -> BasculeError:
    if not refusal.reveals:
        # To one who may not know of a tool, it must look as if there were none.
        return standing.unknown(facts.name)
    return Refused(refusal.message, rule=refusal.rule, fix=refusal.fix)


def withheld(standing: Standing, prepared: Prepared, trail: Trail) -> Prepared:
    """The request with its progress kept back, where its outcome may turn out to be more private than is known."""
    on_progress = prepared.on_progress
    labels = "labels" in standing.config(trail.server).trust
    if not labels or on_progress is None or standing.ratchet.settled is DataSensitivity.SECRET:
        return prepared
    if trail.withholding is None:
        trail.withholding = Withholding(on_progress)
    return msgspec.structs.replace(prepared, on_progress=trail.withholding)


def _parts(facts: Facts) -> tuple[str, str]:
    return facts.key.server, facts.key.tool
