"""How to link to each server, as data: what a pool looks up when a link is needed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from bascule.core.errors import BasculeError, UsageError
from bascule.core.masking import Mask
from bascule.core.principal import Principal
from bascule.links.key import LinkKey
from bascule.links.link import Admit, LinkPlan, OnChange
from bascule.links.reception import OnQuestion
from bascule.links.terms import Terms
from bascule.transports.dispatcher import Dispatcher

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


class Plans:
    """The plans of all servers. A server that cannot be linked to has the reason in place of a plan."""

    def __init__(self, servers: Mapping[str, ServerPlan | BasculeError]) -> None:
        self.servers = servers
        """Put another mapping here, and every link from then on is made by it. None is changed in place."""

    def plan_for(self, key: LinkKey) -> LinkPlan:
        plan = self.servers.get(key.server)
        if plan is None:
            raise UsageError(f"no server is called {key.server!r}", fix="`bascule list` shows those configured")
        if isinstance(plan, BasculeError):
            raise plan
        dial = partial(plan.dial, key.principal)
        older = partial(plan.older, key.principal) if plan.older is not None else None
        return LinkPlan(key, plan.terms, dial, plan.admit, plan.mask, older, plan.answer, plan.on_change)
