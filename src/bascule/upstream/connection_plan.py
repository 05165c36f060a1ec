"""Connection plans for each server and lane, as data: the pool looks one up when it opens a link."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from bascule.core.errors import BasculeError, PermitLost, Refused, UsageError
from bascule.core.principal import Nobody, Principal
from bascule.core.request import Leave
from bascule.core.sensitivity import Lane
from bascule.core.text.redaction import Mask
from bascule.sensitivity.ratchet import Ratchet, Ratchets
from bascule.transports.dispatcher import Dispatcher
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Admit, LinkPlan, OnChange
from bascule.upstream.notifications import UNHEARD, Hears
from bascule.upstream.server_requests import OnQuestion
from bascule.upstream.settings import Terms

DialFor = Callable[[Principal], Dispatcher]
"""Makes a connection on somebody's behalf."""


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """How any link to one server is made."""

    terms: Terms
    dial: DialFor
    admit: Admit
    mask: Mask = field(default_factory=Mask)
    older: DialFor | None = None
    answer: OnQuestion | None = None
    on_change: OnChange | None = None
    hears: Hears = UNHEARD
    leave: Leave | None = None
    """Leave to write, which everything needs that a link writes."""


PlansByLane = Mapping[tuple[str, Lane], ServerPlan | BasculeError]


class Plans:
    """The plans of all servers, on each lane they can be served on. A server that cannot be linked to has the reason in
    place of a plan."""

    def __init__(self, servers: PlansByLane, ratchets: Ratchets) -> None:
        self._ratchets = ratchets
        self.servers = servers
        """Put another mapping here, and every link from then on is made by it. None is changed in place."""

    def plan_for(self, key: LinkKey) -> LinkPlan:
        """How to make a link now. One that would be too wide for its principal is not made, whoever wants it: raises
        `PermitLost`, or `Refused` where nothing is done for it any more. What is nobody's is not private."""
        if not isinstance(key.principal, Nobody):
            self._check(key, self._ratchets.of(key.principal))
        plan = self.servers.get((key.server, key.lane))
        if plan is None:
            # Never by another lane: that is what lanes are for.
            raise self._no_plan(key)
        if isinstance(plan, BasculeError):
            raise plan
        dial = partial(plan.dial, key.principal)
        older = partial(plan.older, key.principal) if plan.older is not None else None
        hearing = (plan.answer, plan.on_change, plan.hears)
        return LinkPlan(key, plan.terms, dial, plan.admit, plan.mask, older, *hearing, plan.leave)

    def _check(self, key: LinkKey, ratchet: Ratchet) -> None:
        if ratchet.ended:
            # Deciding again would change nothing, and whoever only looks decides nothing.
            raise Refused(
                "an operator has ended this agent session",
                rule="session_goes_on",
                fix="go on in a new agent session, under another id",
            )
        if not ratchet.allows(key.lane):
            raise PermitLost(f"the {key.lane} lane of {key.server} is closed to this agent session")

    def _no_plan(self, key: LinkKey) -> BasculeError:
        if any(server == key.server for server, _ in self.servers):
            ratchet = self._ratchets.find(key.principal)
            since = f"; this agent session has become private ({ratchet.because})" if ratchet is not None else ""
            return Refused(
                f"{key.server} has no {key.lane} lane: it has no isolated twin, and nobody vouches for it{since}",
                rule="lane_exists",
                fix=f"give {key.server} a twin: `url_isolated` or `command_isolated`",
            )
        return UsageError(f"no server is called {key.server!r}", fix="`bascule list` shows those configured")
