import pytest

from bascule.gateway.limits import MOST_UNDER_WAY, PER_SECOND, Allowance, TooMuch


def test_no_more_requests_are_under_way_than_may_be_and_each_that_ends_makes_room():
    mine = Allowance()
    for _ in range(MOST_UNDER_WAY):
        mine.enter(1.0)
    with pytest.raises(TooMuch, match="under way"):
        mine.enter(1.0)
    mine.leave()
    mine.enter(1.0)
    assert mine.under_way == MOST_UNDER_WAY


def test_no_more_are_taken_within_a_second_than_may_be():
    mine = Allowance()
    for _ in range(PER_SECOND):
        mine.enter(1.2)
        mine.leave()
    for now in (1.2, 1.99):
        with pytest.raises(TooMuch, match="within a second") as caught:
            mine.enter(now)
        assert caught.value.retry_after == 1
    mine.enter(2.0)
    assert mine.under_way == 1


def test_who_stands_for_everybody_may_ask_as_often_as_everybody_does():
    everybody = Allowance(everybody=True)
    for _ in range(2 * PER_SECOND):
        everybody.enter(1.0)
        everybody.leave()


def test_large_bodies_take_their_share_and_give_it_back():
    mine = Allowance()
    mine.hold(6, 10)
    with pytest.raises(TooMuch, match="10 bytes"):
        mine.hold(5, 10)
    mine.hold(4, 10)
    mine.let_go(6)
    mine.hold(6, 10)
    assert mine.held == 10
