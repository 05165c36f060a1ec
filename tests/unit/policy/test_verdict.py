"""Verdicts."""

from bascule.core.sensitivity import Lane
from bascule.policy.verdict import Allow, Ask, Refusal, Verdict


def word(verdict: Verdict) -> str:
    match verdict:
        case Allow(lane):
            return f"allow on {lane}"
        case Ask(rule, _):
            return f"ask by {rule}"
        case Refusal(rule, message):
            return f"refuse by {rule}: {message}"


def test_there_are_three_and_each_can_be_matched():
    assert word(Allow(Lane.SEALED)) == "allow on sealed"
    assert word(Ask("a_person_decides", "really?")) == "ask by a_person_decides"
    assert word(Refusal("r", "no")) == "refuse by r: no"


def test_a_refusal_is_told_unless_it_says_otherwise():
    assert Refusal("r", "no").reveals
