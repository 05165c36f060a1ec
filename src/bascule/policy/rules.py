"""Policy rules, each a named function over the facts. The first refusal stands, so their order counts."""

from collections.abc import Callable

from bascule.core.permission import UNDECLARED, Permission
from bascule.core.sensitivity import is_wider, lane_for
from bascule.core.tool import ToolStatus
from bascule.policy.containment import Footing, goes_on
from bascule.policy.facts import Facts
from bascule.policy.verdict import Ask, Refusal

Rule = Callable[[Facts], Refusal | Ask | None]


def tool_is_exposed(facts: Facts) -> Refusal | None:
    """Hidden tools do not exist for an agent, so this is asked first and its refusal is not told."""
    if facts.status is not ToolStatus.HIDDEN and facts.exposure.permits(facts.key.tool):
        return None
    return Refusal(
        rule="tool_is_exposed",
        message=f"{facts.key} is not exposed",
        fix=f"allow {facts.key.tool} under `tools` of the server {facts.key.server}",
        reveals=False,
    )


def tool_is_usable(facts: Facts) -> Refusal | None:
    if facts.status is ToolStatus.EXPOSED:
        return None
    return Refusal(
        rule="tool_is_usable",
        message=f"{facts.name} is {facts.status}" + (f": {facts.problem}" if facts.problem else ""),
        fix=_FIXES.get(facts.status, ""),
    )


_FIXES = {
    ToolStatus.COLLIDING: "set `prefix` on one of the servers",
    ToolStatus.QUARANTINED: "look at it with `bascule inspect`, then accept it or block it",
    ToolStatus.UNUSABLE: "report the problem to the author of the server",
}


def session_goes_on(facts: Facts) -> Refusal | None:
    if not facts.ended:
        return None
    return Refusal(
        rule="session_goes_on",
        message="an operator has ended this agent session",
        fix="go on in a new agent session, under another id",
    )


def data_stays_in(facts: Facts) -> Refusal | None:
    """The table, and the lane: both must say that nothing can get out. A tool of which nothing is known does
    everything."""
    kept_out = (facts.permissions or UNDECLARED) - goes_on(facts.level, facts.footing)
    if not kept_out and not is_wider(facts.lane, lane_for(facts.level)):
        return None
    what = _FOOTINGS[facts.footing].format(server=facts.key.server)
    effects = f", and {facts.name} may {' and '.join(sorted(kept_out))}" if 0 < len(kept_out) < len(Permission) else ""
    since = f" ({facts.because})" if facts.because else ""
    return Refusal(
        rule="data_stays_in",
        message=f"this agent session has seen {facts.level.name.lower()} data{since}; {what}{effects}",
        fix=_WAYS_ON.get(facts.footing, _WAY_ON).format(server=facts.key.server)
        + "; what needs no private data can be done in a new agent session",
    )


_FOOTINGS = {
    Footing.CONFINED: "{server} has no lane that is tight enough",
    Footing.LOOSE: "{server} has no isolated twin, so whatever is sent there could leave",
    Footing.VOUCHED_CONFIDENTIAL: "{server} is vouched for only up to confidential data",
    Footing.VOUCHED_SECRET: "{server} is vouched for, which covers only what does not connect",
    Footing.NATIVE: "{server} is functions of this program, of which only those go on that do not connect",
}

_WAY_ON = "an operator can give {server} a twin (`url_isolated`, `command_isolated`), or vouch for it (`vouched`)"

_WAYS_ON = {
    Footing.NATIVE: 'a function of {server} that reaches nobody can say so, with @tool("read") or @tool("write")'
}


def person_agrees(facts: Facts) -> Ask | None:
    """Asked last: nobody is bothered about what is refused anyway."""
    if not facts.asks:
        return None
    return Ask(rule="person_agrees", message=f"{facts.name} of {facts.key.server} waits for a person to agree")


RULES: tuple[Rule, ...] = (tool_is_exposed, tool_is_usable, session_goes_on, data_stays_in, person_agrees)
