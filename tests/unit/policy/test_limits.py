"""When a further call may not begin, and when it may again."""

import pytest

from bascule.config import Limits
from bascule.policy.limits import Load, within_limits

NO_LIMITS = Limits(concurrent=None)


@pytest.mark.parametrize(
    ("limits", "load"),
    [
        (NO_LIMITS, Load(1_000_000, begun=1_000_000, moved=1 << 40)),
        (Limits(), Load(15)),
        (Limits(), Load(0, begun=1_000_000, moved=1 << 40)),
        (Limits(None, 10, 100), Load(1_000_000, begun=9, moved=99)),
    ],
)
def test_below_every_limit_a_call_may_begin(limits: Limits, load: Load):
    assert within_limits(limits, load, "work") is None


@pytest.mark.parametrize(
    ("limits", "load", "name", "value", "wait"),
    [
        (Limits(2), Load(2), "concurrent", 2, 1),
        (Limits(2), Load(5), "concurrent", 2, 1),
        (Limits(None, 10), Load(0, begun=10, begun_eases=12.2), "per_minute", 10, 13),
        (Limits(None, 10), Load(0, begun=10, begun_eases=0.01), "per_minute", 10, 1),
        (Limits(None, None, 100), Load(0, moved=150, moved_eases=3.0), "bytes_per_minute", 100, 3),
    ],
)
def test_a_refusal_names_the_limit_its_value_the_way_to_raise_it_and_when_to_come_back(
    limits: Limits, load: Load, name: str, value: int, wait: int
):
    refusal = within_limits(limits, load, "work")

    assert refusal is not None
    assert (refusal.rule, refusal.retry_after, refusal.reveals) == ("within_limits", wait, True)
    assert refusal.message.endswith(f"`limits.{name}` is {value}")
    assert refusal.fix.endswith(f"or raise `limits.{name}` of the server work")
    assert f"{wait} s" in refusal.fix


def test_that_nobody_knows_when_a_call_ends_is_said():
    refusal = within_limits(Limits(1), Load(1), "work")
    assert refusal is not None
    assert "is a guess" in refusal.fix


def test_of_several_limits_the_one_that_holds_longest_is_told():
    load = Load(9, begun=9, begun_eases=40.0, moved=9, moved_eases=20.0)
    refusal = within_limits(Limits(1, 1, 1), load, "work")
    assert refusal is not None
    assert (refusal.retry_after, "per_minute" in refusal.message) == (40, True)
