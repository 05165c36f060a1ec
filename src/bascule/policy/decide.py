"""Policy decision: all rules in order, the first refusal stands."""

from bascule.policy.facts import Facts
from bascule.policy.rules import RULES, Rule, tool_is_exposed
from bascule.policy.verdict import Allow, Refusal, Verdict


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
