"""The rules, each a named function over the facts. The first refusal stands, so their order counts."""

from collections.abc import Callable

from bascule.core.sensitivity import Lane, lane_for
from bascule.core.tool import ToolStatus
from bascule.policy.facts import Facts
from bascule.policy.verdict import Refusal

Rule = Callable[[Facts], Refusal | None]


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


def lane_is_open(facts: Facts) -> Refusal | None:
    """Fails closed: the level and the lane are both asked, and no server has an isolated twin to go to instead."""
    if facts.lane is Lane.OPEN and lane_for(facts.level) is Lane.OPEN:
        return None
    return Refusal(
        rule="lane_is_open",
        message=(
            f"this session has seen {facts.level.name.lower()} data, "
            f"and {facts.key.server} has no isolated twin to serve {facts.name} from"
        ),
        fix="start a new session for work that needs this tool",
    )


RULES: tuple[Rule, ...] = (tool_is_exposed, tool_is_usable, lane_is_open)
