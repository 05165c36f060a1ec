import pytest

from bascule.core.principal import Principal
from bascule.gateway.old_sessions import OldSessions
from bascule.gateway.session_seal import LONGEST, SessionSeal

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def seal(clock: Clock | None = None, secret: bytes = b"s" * 32) -> SessionSeal:
    return SessionSeal(secret, clock or Clock())


def test_a_name_fits_who_began_the_session_and_nobody_else():
    name = seal().name(ALICE)
    assert seal().fits(name, ALICE)
    assert not seal().fits(name, BOB)
    assert not seal(secret=b"o" * 32).fits(name, ALICE)
    assert seal().name(ALICE) != name


def test_a_name_fits_for_a_day():
    clock = Clock()
    name = seal(clock).name(ALICE)
    clock.now += LONGEST
    assert not seal(clock).fits(name, ALICE)


@pytest.mark.parametrize("name", ["", "x", "ü", "A" * 72, "A" * 71])
def test_what_is_no_name_fits_nobody(name: str):
    assert not seal().fits(name, ALICE)


def test_a_session_that_another_gateway_began_is_gone_on_with_by_who_began_it():
    one, two = OldSessions(Clock(), seal()), OldSessions(Clock(), seal())
    name = one.begin(ALICE)
    assert two.find(name, BOB) is None
    assert two.find(name, ALICE) is not None
    assert OldSessions(Clock()).find(name, ALICE) is None
