"""Agent sessions beside the one that stands for everybody."""

from bascule.gateway.auth import Guests
from support.links import ALICE, BOB


def test_each_guest_has_a_word_of_its_own_that_counts_until_it_leaves():
    guests = Guests()
    with guests.invited(ALICE) as one, guests.invited(BOB) as other:
        assert one != other
        assert (guests.who(one), guests.who(other)) == (ALICE, BOB)
        assert guests.who("Bearer somebody") is None
        assert guests.who("") is None
    assert (guests.who(one), guests.who(other)) == (None, None)


def test_the_word_can_be_a_header_and_cannot_be_guessed():
    with Guests().invited(ALICE) as word:
        assert word.startswith("Bearer ")
        assert len(word) > 40
        assert word.isascii()
