"""Decisions."""

from typing import Any

import pytest

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolKey, ToolStatus
from bascule.policy.decide import decide
from bascule.policy.exposure import Exposure
from bascule.policy.facts import Facts
from bascule.policy.rules import RULES, tool_is_exposed
from bascule.policy.verdict import Allow, Refusal


def facts(**changes: Any) -> Facts:
    known: dict[str, Any] = {
        "key": ToolKey("files", "read"),
        "name": "files_read",
        "principal": Principal("alice", "s-1"),
        "status": ToolStatus.EXPOSED,
        "exposure": Exposure.of(None),
        "level": DataSensitivity.PUBLIC,
        "lane": Lane.OPEN,
        "now": 0.0,
    }
    return Facts(**known | changes)


def test_what_no_rule_refuses_is_allowed_on_its_lane():
    assert decide(facts()) == Allow(Lane.OPEN)
    assert decide(facts(lane=Lane.SEALED), rules=()) == Allow(Lane.SEALED)


def test_the_first_refusal_stands_and_no_further_rule_is_asked():
    asked: list[str] = []

    def rule(name: str, refusal: Refusal | None) -> Any:
        def named(_: Facts) -> Refusal | None:
            asked.append(name)
            return refusal

        return named

    first, second = Refusal("second", "no"), Refusal("third", "no")
    verdict = decide(facts(), rules=(rule("first", None), rule("second", first), rule("third", second)))

    assert verdict is first
    assert asked == ["first", "second"]


def test_a_hidden_tool_is_refused_in_secret_whatever_else_is_wrong():
    verdict = decide(facts(status=ToolStatus.HIDDEN, level=DataSensitivity.SECRET, lane=Lane.SEALED))

    assert isinstance(verdict, Refusal)
    assert verdict.rule == "tool_is_exposed"
    assert not verdict.reveals


def test_private_data_is_refused_openly():
    verdict = decide(facts(level=DataSensitivity.CONFIDENTIAL, lane=Lane.PROXIED))

    assert isinstance(verdict, Refusal)
    assert verdict.rule == "data_stays_in"
    assert verdict.reveals


@pytest.mark.parametrize("error", [ValueError("secret detail"), KeyError("x"), RecursionError(), AssertionError()])
def test_a_rule_that_breaks_has_refused(error: Exception):
    def a_broken_rule(_: Facts) -> Refusal | None:
        raise error

    verdict = decide(facts(), rules=(a_broken_rule, *RULES))

    assert isinstance(verdict, Refusal)
    assert verdict.rule == "a_broken_rule"
    assert type(error).__name__ in verdict.message
    assert "secret detail" not in verdict.message


def test_facts_that_break_the_first_rule_do_not_reveal_the_tool():
    verdict = decide(facts(exposure=None))

    assert isinstance(verdict, Refusal)
    assert verdict.rule == tool_is_exposed.__name__
    assert not verdict.reveals


def test_a_rule_may_be_any_callable():
    class Rule:
        def __call__(self, _: Facts) -> Refusal | None:
            raise ValueError

    verdict = decide(facts(), rules=(Rule(),))

    assert isinstance(verdict, Refusal)
    assert verdict.rule == "Rule"


def test_being_interrupted_is_not_a_refusal():
    def interrupted(_: Facts) -> Refusal | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decide(facts(), rules=(interrupted,))
