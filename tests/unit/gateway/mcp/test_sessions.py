import pytest

from bascule.core.principal import Principal
from bascule.gateway.mcp import sessions as old_sessions
from bascule.gateway.mcp.notifications import Outlet
from bascule.gateway.mcp.sessions import IDLE, LONGEST, OldSessions, SessionSeal

SAID = {"elicitation": {"form": {}}}
ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def begun(sessions: OldSessions) -> str:
    return sessions.begin(ALICE)


def test_only_who_began_a_session_goes_on_with_it():
    sessions = OldSessions(Clock())
    name = begun(sessions)
    assert sessions.find(name, ALICE) is not None
    assert sessions.find(name, BOB) is None
    assert not sessions.end(name, BOB)
    assert sessions.end(name, ALICE)
    assert sessions.find(name, ALICE) is None


def test_ids_cannot_be_guessed():
    sessions = OldSessions(Clock())
    names = {begun(sessions) for _ in range(50)}
    assert len(names) == 50
    assert min(map(len, names)) >= 32


def test_one_that_nobody_uses_is_forgotten():
    clock = Clock()
    sessions = OldSessions(clock)
    used, idle = begun(sessions), begun(sessions)
    clock.now += IDLE - 1
    assert sessions.find(used, ALICE)
    clock.now += 2
    assert sessions.find(used, ALICE)
    assert sessions.find(idle, ALICE) is None


def test_of_too_many_the_one_used_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(old_sessions, "MOST_SESSIONS", 2)
    sessions = OldSessions(Clock())
    first, second = begun(sessions), begun(sessions)
    assert sessions.find(first, ALICE)
    third = begun(sessions)
    assert [name for name in (first, second, third) if sessions.find(name, ALICE)] == [first, third]


def test_a_session_knows_what_its_client_offers_and_shares_nothing_with_others():
    sessions = OldSessions(Clock())
    able, plain = sessions.begin(ALICE, {"roots": {}}), begun(sessions)
    first, second = sessions.find(able, ALICE), sessions.find(plain, ALICE)
    assert first is not None
    assert second is not None
    assert (first.capabilities, second.capabilities) == ({"roots": {}}, {})
    assert first.asked is not second.asked


async def test_the_client_of_a_session_that_is_over_is_told_nothing_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(old_sessions, "MOST_SESSIONS", 1)
    sessions, first, second = OldSessions(Clock()), Outlet(), Outlet()
    sessions.begin(ALICE, outlet=first)
    name = sessions.begin(ALICE, outlet=second)
    assert (first.closed, second.closed) == (True, False)
    sessions.end(name, ALICE)
    assert second.closed


async def test_a_client_that_listens_uses_its_session():
    clock = Clock()
    sessions, outlet = OldSessions(clock), Outlet()
    name, other = sessions.begin(ALICE, outlet=outlet), begun(sessions)
    outlet.delivering = True
    clock.now += IDLE + 1
    begun(sessions)
    assert not outlet.closed
    assert sessions.find(name, ALICE) is not None
    assert sessions.find(other, ALICE) is None


def test_it_is_told_how_long_each_was_used():
    clock, told = Clock(), list[float]()
    sessions = OldSessions(clock, ended=told.append)
    ended, forgotten = begun(sessions), begun(sessions)
    clock.now += 5
    assert sessions.find(forgotten, ALICE) is not None
    clock.now += 2
    assert sessions.end(ended, ALICE)
    assert told == [7.0]
    clock.now += IDLE + 1
    begun(sessions)
    assert told == [7.0, 5.0]


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
