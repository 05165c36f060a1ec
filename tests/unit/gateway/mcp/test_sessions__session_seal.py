import pytest

from bascule.core.principal import Principal
from bascule.gateway.mcp.sessions import LONGEST, OldSessions, SessionSeal

SAID = {"elicitation": {"form": {}}}
ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def seal(clock: Clock | None = None, secret: bytes = b"s" * 32) -> SessionSeal:
    return SessionSeal(secret, clock or Clock())


def test_a_name_fits_who_began_the_session_and_nobody_else():
    name = seal().name(ALICE, SAID)
    assert seal().read(name, ALICE) == SAID
    assert seal().read(name, BOB) is None
    assert seal(secret=b"o" * 32).read(name, ALICE) is None
    assert seal().name(ALICE, SAID) != name


def test_a_name_fits_for_a_day():
    clock = Clock()
    name = seal(clock).name(ALICE, SAID)
    clock.now += LONGEST
    assert seal(clock).read(name, ALICE) is None


@pytest.mark.parametrize("name", ["", "x", "ü", "A" * 72, "A" * 71])
def test_what_is_no_name_fits_nobody(name: str):
    assert seal().read(name, ALICE) is None


def test_a_session_that_another_gateway_began_is_gone_on_with_by_who_began_it():
    one, two = OldSessions(Clock(), seal()), OldSessions(Clock(), seal())
    name = one.begin(ALICE, SAID)
    assert two.find(name, BOB) is None
    found = two.find(name, ALICE)
    assert found is not None
    assert found.capabilities == SAID
    assert OldSessions(Clock()).find(name, ALICE) is None


def test_what_would_make_a_name_too_long_is_no_part_of_it():
    name = seal().name(ALICE, {"experimental": {"x": "y" * 5000}})
    assert len(name) < 200
    assert seal().read(name, ALICE) == {}
