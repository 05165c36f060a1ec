"""How often a token may be wrong."""

from bascule.dashboard.auth.attempts import EVERY, FREE, MOST_ADDRESSES, Tries


def test_who_guesses_has_to_wait_and_nobody_else_does():
    now = [0.0]
    tries = Tries(lambda: now[0])
    for _ in range(FREE):
        assert tries.wait("a") == 0
        tries.wrong("a")
    assert tries.wait("a") > 0
    assert tries.wait("b") == 0
    now[0] += EVERY
    assert tries.wait("a") == 0
    tries.wrong("a")
    assert tries.wait("a") > 0


def test_a_wrong_token_while_one_has_to_wait_makes_nothing_better():
    tries = Tries(lambda: 0.0)
    for _ in range(3 * FREE):
        tries.wrong("a")
    assert 0 < tries.wait("a") <= EVERY + 1


def test_no_more_addresses_are_remembered_than_there_is_room_for():
    tries = Tries(lambda: 0.0)
    for each in range(MOST_ADDRESSES + 50):
        tries.wrong(str(each))
    assert len(tries._known) == MOST_ADDRESSES
