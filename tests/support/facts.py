"""What the rules are given, noted where it is given to them."""

import pytest

from bascule.policy.facts import Facts
from bascule.policy.rules import Rule, decide
from bascule.policy.verdict import Verdict


def noted_facts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Facts]:
    """The last facts of each name from now on. They are decided as ever."""
    seen: dict[str, Facts] = {}

    def noting(facts: Facts, rules: tuple[Rule, ...]) -> Verdict:
        seen[facts.name] = facts
        return decide(facts, rules)

    monkeypatch.setattr("bascule.runtime.session_context.decide", noting)
    return seen
