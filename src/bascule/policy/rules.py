"""Policy rules, each a named function over the facts, and `decide`, which evaluates them in order: the first refusal
stands.

To add a rule, write it here, and put it into `RULES` at its place in the order:

    @rule("level", "arguments")
    def long_texts_stay_in(facts: Facts) -> Refusal | None: ...

`@rule` names each fact that the function reads, beside `key` and `name`. The function gets these and no others: an
attempt to read another one raises `AttributeError`, which refuses the request. A rule reads nothing but facts: no clock
and no state of its own. A new fact is a field of `Facts`, which `runtime/session_context.py` fills in.

The runtime remembers that a tool was allowed for as long as certain facts stay the same (`KEYED_FACTS` in that module).
A rule that reads any other fact, such as `arguments` or `now`, is still evaluated at each call. So is a function
without `@rule`: it gets all facts.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, TypeVar, cast

import msgspec

from bascule.core.permission import UNDECLARED, Permission
from bascule.core.sensitivity import is_wider, lane_for
from bascule.core.tool import ToolStatus
from bascule.policy.containment import Footing, goes_on
from bascule.policy.facts import FACTS, Facts
from bascule.policy.verdict import Allow, Ask, Refusal, Verdict

Rule = Callable[[Facts], Refusal | Ask | None]
RuleT = TypeVar("RuleT", bound=Rule)

_ALWAYS = ("key", "name")
"""Facts that each rule gets: they identify the request, and messages need them."""


class DeclaredRule:
    """A rule with the names of the facts that it reads. It hands these alone to its function."""

    def __init__(self, check: Rule, reads: Iterable[str]) -> None:
        names = dict.fromkeys((*_ALWAYS, *reads))
        if not names.keys() <= FACTS:
            raise ValueError(f"{check.__name__} reads no such facts: {sorted(names.keys() - FACTS)}")
        self.__name__ = check.__name__
        self.__doc__ = check.__doc__
        self.reads = frozenset(names)
        self._check = check
        self._values = attrgetter(*names)
        fields = [(name, Any) for name in names]
        self._narrowed = msgspec.defstruct(f"Facts of {check.__name__}", fields, frozen=True, gc=False)

    def __call__(self, facts: Facts) -> Refusal | Ask | None:
        return self._check(cast("Facts", self._narrowed(*self._values(facts))))


def rule(*reads: str) -> Callable[[RuleT], RuleT]:
    """Declares the facts that a rule reads."""
    return lambda check: cast("RuleT", DeclaredRule(check, reads))


def facts_read(rule: Rule) -> frozenset[str]:
    """Names of the facts on which a rule depends: all, if it declares none."""
    return rule.reads if isinstance(rule, DeclaredRule) else FACTS


@rule("status", "exposure")
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


@rule("status", "problem")
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


@rule("ended")
def session_goes_on(facts: Facts) -> Refusal | None:
    if not facts.ended:
        return None
    return Refusal(
        rule="session_goes_on",
        message="an operator has ended this agent session",
        fix="go on in a new agent session, under another id",
    )


@rule("permissions", "level", "footing", "lane", "because")
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


@rule("asks")
def person_agrees(facts: Facts) -> Ask | None:
    """Asked last: nobody is bothered about what is refused anyway."""
    if not facts.asks:
        return None
    return Ask(rule="person_agrees", message=f"{facts.name} of {facts.key.server} waits for a person to agree")


RULES: tuple[Rule, ...] = (tool_is_exposed, tool_is_usable, session_goes_on, data_stays_in, person_agrees)


def decide(facts: Facts, rules: tuple[Rule, ...] = RULES) -> Verdict:
    """Whether a request may happen, and by which lane. Never raises: a rule that breaks has refused."""
    for rule in rules:
        try:
            refusal = rule(facts)
        except Exception as error:  # noqa: BLE001 -- whatever is wrong with a rule, a request it did not allow is refused
            return _broken(rule, error)
        if refusal is not None:
            return refusal
    return Allow(facts.lane)


def _broken(rule: Rule, error: Exception) -> Refusal:
    name = getattr(rule, "__name__", type(rule).__name__)
    return Refusal(
        rule=name,
        message=f"the rule {name} failed with {type(error).__name__}",
        fix="report this as a bug of Bascule",
        # Whether the tool may be known of is what this rule would have told.
        reveals=rule is not tool_is_exposed,
    )
