import resource

import pytest

from bascule.gateway.http.connection_limit import MOST_CONNECTIONS, Hall, room_for_connections


class Someone:
    """A connection that notes that it was hung up on."""

    def __init__(self, holder: str = "") -> None:
        self.holder = holder
        self.gone = False

    def hang_up(self) -> None:
        self.gone = True


def test_who_has_never_asked_makes_room_first_then_who_has_been_idle_longest():
    hall = Hall(most=4)
    busy, rested, rests_again, silent = guests = [Someone() for _ in range(4)]
    for guest in guests:
        assert hall.enter(guest)
    for guest in (busy, rested, rests_again):
        hall.asks(guest)
    hall.rests(rests_again)
    hall.rests(rested)
    hall.asks(rests_again)
    hall.rests(rests_again)
    newer = [Someone() for _ in range(4)]
    order: list[list[bool]] = []
    for guest in newer[:3]:
        assert hall.enter(guest)
        hall.asks(guest)
        order.append([each.gone for each in (busy, rested, rests_again, silent)])
    assert order == [[False, False, False, True], [False, True, False, True], [False, True, True, True]]
    assert not hall.enter(newer[3])
    hall.leave(newer[0])
    assert hall.enter(newer[3])
    assert len(hall) == 4


def test_who_has_left_is_counted_no_longer():
    hall = Hall(most=1)
    first, second = Someone(), Someone()
    hall.enter(first)
    hall.asks(first)
    hall.leave(first)
    hall.rests(first)
    assert len(hall) == 0
    assert hall.enter(second)
    assert not first.gone


def test_who_has_most_unread_over_all_its_connections_is_hung_up_on():
    hall = Hall(most=10, most_unread=100)
    honest = Someone("alice")
    greedy = [Someone("mallory") for _ in range(3)]
    hall.falls_behind(honest, 40)
    for guest in greedy[:2]:
        hall.falls_behind(guest, 30)
    assert not any(guest.gone for guest in (honest, *greedy))
    hall.falls_behind(greedy[2], 30)
    assert [guest.gone for guest in (honest, *greedy)] == [False, True, False, False]
    hall.catches_up(greedy[1])
    hall.falls_behind(Someone("bob"), 30)
    assert [guest.gone for guest in (honest, *greedy)] == [False, True, False, False]


@pytest.mark.parametrize(
    ("allowed", "room"),
    [(1024, 512), (20, 16), (1 << 20, MOST_CONNECTIONS), (resource.RLIM_INFINITY, MOST_CONNECTIONS)],
)
def test_servers_keep_half_of_the_descriptors(monkeypatch: pytest.MonkeyPatch, allowed: int, room: int):
    def limits(_which: int) -> tuple[int, int]:
        return allowed, allowed

    monkeypatch.setattr(resource, "getrlimit", limits)
    assert room_for_connections() == room
