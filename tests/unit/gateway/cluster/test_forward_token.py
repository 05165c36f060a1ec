import base64

import pytest

from bascule.core.principal import Principal
from bascule.gateway.cluster.forward_token import LIFE, Passes

ALICE = Principal("alice", "s-1")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def both(clock: Clock, other: bytes = b"s" * 32) -> tuple[Passes, Passes]:
    return Passes(b"s" * 32, clock), Passes(other, clock)


def test_a_pass_says_on_whose_behalf_and_to_whom():
    ours, theirs = both(Clock())
    shown = ours.write(ALICE, "two")
    assert theirs.addressee(shown) == "two"
    assert theirs.take(shown, "two") == ALICE


def test_a_pass_is_good_once():
    ours, theirs = both(Clock())
    shown = ours.write(ALICE, "two")
    assert theirs.take(shown, "two") == ALICE
    assert theirs.take(shown, "two") is None


def test_a_pass_for_another_reader_is_none():
    ours, theirs = both(Clock())
    assert theirs.take(ours.write(ALICE, "two"), "three") is None


def test_nobody_without_the_secret_can_write_one():
    ours, theirs = both(Clock(), b"o" * 32)
    shown = ours.write(ALICE, "two")
    assert theirs.addressee(shown) == ""
    assert theirs.take(shown, "two") is None


def test_no_byte_of_it_can_be_altered():
    ours, theirs = both(Clock())
    raw = base64.urlsafe_b64decode(ours.write(ALICE, "two"))
    for place in range(len(raw)):
        altered = bytearray(raw)
        altered[place] ^= 1
        assert theirs.take(base64.urlsafe_b64encode(altered).decode(), "two") is None


@pytest.mark.parametrize("seconds", [LIFE, 10 * LIFE, -3 * LIFE])
def test_an_old_pass_is_none_and_neither_is_one_from_far_ahead(seconds: float):
    clock = Clock()
    ours, theirs = both(clock)
    shown = ours.write(ALICE, "two")
    clock.now += seconds
    assert theirs.take(shown, "two") is None


@pytest.mark.parametrize("shown", ["", "x", "ü", "=" * 80, base64.urlsafe_b64encode(b"x" * 60).decode()])
def test_what_is_no_pass_is_none(shown: str):
    assert Passes(b"s" * 32, Clock()).take(shown, "two") is None


def test_used_ones_are_forgotten_when_they_have_run_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bascule.gateway.cluster.forward_token.MOST_USED", 2)
    clock = Clock()
    ours, theirs = both(clock)
    for _ in range(2):
        assert theirs.take(ours.write(ALICE, "two"), "two") == ALICE
    assert theirs.take(ours.write(ALICE, "two"), "two") is None
    clock.now += 2 * LIFE
    assert theirs.take(ours.write(ALICE, "two"), "two") == ALICE
