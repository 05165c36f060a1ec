"""Policy rules one by one, and the decision of all of them."""

from typing import Any

import pytest

from bascule.core.permission import Permission
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane, lane_for
from bascule.core.tool import ToolKey, ToolStatus
from bascule.policy.containment import TABLE, Footing
from bascule.policy.exposure import Exposure
from bascule.policy.facts import FACTS, Facts
from bascule.policy.rules import (
    RULES,
    data_stays_in,
    decide,
    facts_read,
    person_agrees,
    rule,
    session_goes_on,
    tool_is_exposed,
    tool_is_usable,
)
from bascule.policy.verdict import Allow, Ask, Refusal


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


@pytest.mark.parametrize("rule", RULES)
def test_an_ordinary_call_offends_no_rule(rule: Any):
    assert rule(facts()) is None


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        (tool_is_exposed, {"status": ToolStatus.HIDDEN}),
        (tool_is_usable, {"status": ToolStatus.UNUSABLE}),
        (data_stays_in, {"level": DataSensitivity.SECRET}),
        (session_goes_on, {"ended": True}),
    ],
)
def test_a_refusal_carries_its_rules_own_name_and_a_way_out(rule: Any, broken: dict[str, Any]):
    refusal = rule(facts(**broken))

    assert refusal.rule == rule.__name__
    assert refusal.message
    assert refusal.fix


@pytest.mark.parametrize(
    "changes",
    [
        {"status": ToolStatus.HIDDEN},
        {"exposure": Exposure.of([])},
        {"exposure": Exposure.of(None, ["read"])},
        {"exposure": Exposure.of("unreadable")},
    ],
    ids=["hidden", "not allowed", "blocked", "unreadable"],
)
def test_a_tool_that_is_not_exposed_is_refused_in_secret(changes: dict[str, Any]):
    refusal = tool_is_exposed(facts(**changes))

    assert refusal is not None
    assert not refusal.reveals


def test_exposure_is_asked_by_the_servers_own_name():
    assert tool_is_exposed(facts(exposure=Exposure.of(["read"]))) is None
    assert tool_is_exposed(facts(exposure=Exposure.of(["files_read"]))) is not None


@pytest.mark.parametrize("status", [status for status in ToolStatus if status is not ToolStatus.EXPOSED])
def test_a_tool_of_any_other_status_cannot_be_used(status: ToolStatus):
    refusal = tool_is_usable(facts(status=status, problem="it changed"))

    assert refusal is not None
    assert str(status) in refusal.message
    assert "it changed" in refusal.message


ROWS = [
    (level, footing, permission, permission in TABLE[level][footing])
    for level in DataSensitivity
    for footing in Footing
    for permission in Permission
]


@pytest.mark.parametrize(("level", "footing", "permission", "goes"), ROWS)
def test_the_table_alone_says_what_goes_on(
    level: DataSensitivity, footing: Footing, permission: Permission, goes: bool
):
    lane = lane_for(level)
    refusal = data_stays_in(facts(level=level, lane=lane, footing=footing, permissions=frozenset({permission})))

    assert (refusal is None) == goes
    assert refusal is None or refusal.reveals


@pytest.mark.parametrize("footing", [footing for footing in Footing if footing is not Footing.CONFINED])
def test_a_tool_of_which_nothing_is_known_does_everything(footing: Footing):
    changes = {"level": DataSensitivity.CONFIDENTIAL, "lane": Lane.PROXIED, "footing": footing}

    assert data_stays_in(facts(**changes, permissions=frozenset())) is not None
    assert data_stays_in(facts(**changes)) is not None


def test_a_native_tool_that_is_refused_is_told_what_its_program_can_do():
    private = {"level": DataSensitivity.SECRET, "lane": Lane.SEALED, "footing": Footing.NATIVE}
    refusal = data_stays_in(facts(**private))

    assert refusal is not None
    assert "functions of this program" in refusal.message
    assert "may connect" in refusal.message
    assert "@tool(" in refusal.fix
    assert "url_isolated" not in refusal.fix


@pytest.mark.parametrize(
    ("level", "lane"),
    [
        (DataSensitivity.CONFIDENTIAL, Lane.OPEN),
        (DataSensitivity.SECRET, Lane.OPEN),
        (DataSensitivity.SECRET, Lane.PROXIED),
    ],
)
def test_no_lane_that_is_wider_than_the_level_is_ever_taken(level: DataSensitivity, lane: Lane):
    assert data_stays_in(facts(level=level, lane=lane, footing=Footing.CONFINED)) is not None


def test_a_lane_that_is_tighter_than_the_level_may_be_taken():
    assert data_stays_in(facts(level=DataSensitivity.CONFIDENTIAL, lane=Lane.SEALED, footing=Footing.CONFINED)) is None


def test_a_refusal_says_what_raised_the_level_and_what_an_operator_can_do():
    refusal = data_stays_in(facts(level=DataSensitivity.SECRET, lane=Lane.SEALED, because="label of files/read"))

    assert refusal is not None
    assert "has seen secret data (label of files/read)" in refusal.message
    assert "files has no isolated twin" in refusal.message
    assert "url_isolated" in refusal.fix
    assert "vouched" in refusal.fix


def test_what_a_vouched_server_may_not_do_is_named():
    changes = {"level": DataSensitivity.CONFIDENTIAL, "lane": Lane.PROXIED, "footing": Footing.VOUCHED_SECRET}
    refusal = data_stays_in(facts(**changes, permissions=frozenset({Permission.READ, Permission.CONNECT})))

    assert refusal is not None
    assert refusal.message.endswith("covers only what does not connect, and files_read may connect")


def test_an_agent_session_that_was_ended_does_nothing_more():
    refusal = session_goes_on(facts(ended=True))

    assert refusal is not None
    assert refusal.reveals


def test_a_person_is_asked_last_and_only_where_the_operator_wants_it():
    assert RULES[-1] is person_agrees
    assert person_agrees(facts(asks=True)) == Ask("person_agrees", "files_read of files waits for a person to agree")


def test_whether_a_tool_may_be_known_of_is_asked_first():
    assert RULES[0] is tool_is_exposed


# What a rule declares


def test_a_rule_gets_the_facts_that_it_declares_and_the_name_of_the_tool():
    got: list[Facts] = []

    @rule("level", "arguments")
    def declared(known: Facts) -> Refusal | None:
        got.append(known)
        return None

    assert declared(facts(arguments={"n": 1})) is None
    known = got[0]
    assert (known.key, known.name) == (ToolKey("files", "read"), "files_read")
    assert (known.level, known.arguments) == (DataSensitivity.PUBLIC, {"n": 1})
    assert facts_read(declared) == {"key", "name", "level", "arguments"}


@pytest.mark.parametrize("fact", sorted(FACTS - {"key", "name"}))
def test_a_rule_that_reads_a_fact_it_does_not_declare_has_refused(fact: str):
    @rule(*(FACTS - {fact}))
    def undeclared(known: Facts) -> Refusal | None:
        getattr(known, fact)
        return None

    @rule(fact)
    def declared(known: Facts) -> Refusal | None:
        getattr(known, fact)
        return None

    with pytest.raises(AttributeError, match=f"'Facts of undeclared' object has no attribute '{fact}'"):
        undeclared(facts())
    verdict = decide(facts(), (undeclared,))
    assert isinstance(verdict, Refusal)
    assert verdict.rule == "undeclared"
    assert decide(facts(), (declared,)) == Allow(Lane.OPEN)


def test_a_rule_that_declares_nothing_depends_on_every_fact():
    def plain(known: Facts) -> Refusal | None:
        return None

    assert facts_read(plain) == FACTS


def test_a_fact_that_does_not_exist_cannot_be_declared():
    with pytest.raises(ValueError, match=r"misspelt reads no such facts: \['argument'\]"):

        @rule("argument")
        def misspelt(known: Facts) -> Refusal | None:
            return None


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
