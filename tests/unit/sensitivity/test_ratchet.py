"""Levels that only rise, and what is known of them in this process."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.sensitivity.ratchet import UNKNOWN, Ratchet, Ratchets
from bascule.store.levels.interface import SessionRecord

ALICE = Principal("alice", "s-1")
PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity

levels = st.sampled_from(list(DataSensitivity))


def record(level: DataSensitivity, epoch: int = 0, *, ended: bool = False, doubt: str = "") -> SessionRecord:
    return SessionRecord(ALICE, level, epoch, ended=ended, doubt=doubt)


def ratchet(level: DataSensitivity = PUBLIC, epoch: int = 0) -> Ratchet:
    made = Ratchet()
    made.follow(record(level, epoch))
    return made


def test_until_it_is_known_what_is_kept_it_is_secret():
    unknown = Ratchet()

    assert (unknown.level, unknown.lane, unknown.known, unknown.because) == (SECRET, Lane.SEALED, False, UNKNOWN)


@pytest.mark.parametrize(
    ("level", "lane"),
    [(PUBLIC, Lane.OPEN), (INTERNAL, Lane.OPEN), (CONFIDENTIAL, Lane.PROXIED), (SECRET, Lane.SEALED)],
)
def test_each_level_has_its_lane(level: DataSensitivity, lane: Lane):
    assert ratchet(level).lane is lane


@given(levels, st.lists(levels))
def test_whatever_is_learned_the_level_only_ever_rises(start: DataSensitivity, asked: list[DataSensitivity]):
    made = ratchet(start)
    for level in asked:
        before, epoch, lane = made.level, made.epoch, made.lane
        made.hold(level, "asked")

        assert made.level == max(before, level)
        assert (made.epoch > epoch) == (made.lane is not lane)


@given(st.lists(st.tuples(levels, st.integers(0, 9))))
def test_what_is_older_than_what_is_known_lowers_nothing(kept: list[tuple[DataSensitivity, int]]):
    made, latest = Ratchet(), -1
    for level, epoch in kept:
        before = made.level if made.known else PUBLIC
        made.follow(record(level, epoch))

        if epoch <= latest:
            assert made.level >= before
        else:
            assert made.level == level
        latest = max(latest, epoch)


def test_a_permit_is_good_until_the_lane_changes():
    made = ratchet()
    permit = made.permit()
    made.hold(INTERNAL, "a rule")
    assert permit.valid()

    made.hold(CONFIDENTIAL, "a label")
    assert not permit.valid()
    assert made.permit().valid()


def test_a_permit_given_before_anything_was_known_is_not_good_afterwards():
    made = Ratchet()
    permit = made.permit()
    made.follow(record(SECRET))

    assert not permit.valid()


def test_what_is_on_its_way_into_the_store_holds_whatever_is_kept():
    made = ratchet()
    made.hold(SECRET, "a label")
    made.follow(record(PUBLIC, 5))

    assert made.level is SECRET
    made.let_go(SECRET)
    made.follow(record(PUBLIC, 6))
    assert made.level is PUBLIC


def test_an_operator_can_lower_it_and_it_takes_a_new_decision():
    made = ratchet(SECRET, 1)
    permit = made.permit()
    made.settled = SECRET

    assert made.follow(record(INTERNAL, 2), "operator")
    assert (made.level, made.lane, made.because, made.settled) == (INTERNAL, Lane.OPEN, "operator", INTERNAL)
    assert not permit.valid()


def test_lowered_within_its_lane_it_takes_a_new_decision_too():
    made = ratchet(INTERNAL, 1)
    permit = made.permit()

    assert made.follow(record(PUBLIC, 2), "operator")
    assert made.lane is Lane.OPEN
    assert not permit.valid()


def test_one_that_has_ended_stays_so_and_its_permits_are_gone():
    made = ratchet()
    permit = made.permit()

    assert made.follow(record(PUBLIC, 1, ended=True))
    assert made.ended
    assert not permit.valid()
    assert not made.follow(record(PUBLIC, 1))
    assert made.ended


def test_a_doubt_is_told():
    made = Ratchet()
    made.follow(record(SECRET, doubt="its row cannot be read"))

    assert made.because == "its row cannot be read"


def test_there_is_one_ratchet_for_each_agent_session():
    ratchets = Ratchets()

    assert ratchets.find(ALICE) is None
    assert ratchets.of(ALICE) is ratchets.of(ALICE) is ratchets.find(ALICE)
    assert ratchets.of(Principal("alice", "s-2")) is not ratchets.of(ALICE)
    assert len(ratchets) == 2


def test_one_that_is_forgotten_is_secret_for_good_to_whoever_still_has_it():
    ratchets = Ratchets()
    old = ratchets.of(ALICE)
    old.follow(record(PUBLIC))
    permit = old.permit()

    assert ratchets.forget(ALICE)
    assert ratchets.find(ALICE) is None
    assert old.level is SECRET
    assert not permit.valid()
    old.follow(record(PUBLIC, 9))
    assert old.level is SECRET
    anew = ratchets.of(ALICE)
    assert anew is not old
    assert (anew.level, anew.known) == (SECRET, False)
    assert ratchets.forget(Principal("bob", "s-1"))


def test_one_that_holds_what_may_not_be_kept_elsewhere_is_not_forgotten():
    ratchets = Ratchets()
    held = ratchets.of(ALICE)
    held.follow(record(PUBLIC))
    held.hold(CONFIDENTIAL, "learned")

    assert not ratchets.forget(ALICE)
    assert ratchets.find(ALICE) is held
    assert held.level is CONFIDENTIAL
    held.let_go(CONFIDENTIAL)
    assert ratchets.forget(ALICE)


def test_no_level_counts_as_fenced_after_all_were_unsettled():
    ratchets = Ratchets()
    held = ratchets.of(ALICE)
    held.follow(record(CONFIDENTIAL))
    held.settled = CONFIDENTIAL
    permit = held.permit()
    ratchets.unsettle()

    assert (held.settled, held.level, permit.valid()) == (PUBLIC, CONFIDENTIAL, True)
