"""When a silent link is asked, and when it is dead."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from bascule.upstream.heartbeat_policy import Finding, Pulse


@dataclass
class Seen:
    heard: float = 0.0
    doubted: bool = False
    excused: bool = False


def run(pulse: Pulse, seen: Seen, until: float, start: float = 0.0) -> list[tuple[float, str]]:
    """What is found, look after look, until it is dead or the time is up."""
    now, found = start, list[tuple[float, str]]()
    while now <= until:
        look = pulse.look(now, seen)
        if look.finding is not Finding.ALIVE:
            found.append((now, look.finding.value))
        if look.finding is Finding.STALE:
            break
        assert look.again > 0
        now += look.again
    return found


def test_a_silent_link_is_asked_every_interval_and_dead_at_its_limit():
    assert run(Pulse(30, 90), Seen(), 1000) == [(30, "silent"), (60, "silent"), (90, "stale")]


def test_one_that_speaks_is_never_asked():
    pulse, now = Pulse(30, 90), 0.0
    for _ in range(1000):
        look = pulse.look(now, Seen(heard=now - 29))
        assert look.finding is Finding.ALIVE
        assert look.again == 1
        now += look.again


def test_one_that_works_is_neither_asked_nor_dead_however_long_it_takes():
    assert run(Pulse(30, 90), Seen(excused=True), 100_000) == []


def test_one_that_has_worked_is_asked_before_anything_is_made_of_its_silence():
    pulse, seen = Pulse(30, 90), Seen(excused=True)
    run(pulse, seen, 990)
    seen.excused = False

    assert run(pulse, seen, 2000, 991) == [(1020, "silent"), (1050, "silent"), (1080, "stale")]


def test_one_that_let_somebody_wait_in_vain_is_asked_at_once_and_given_an_interval_to_answer():
    assert run(Pulse(30, 90), Seen(doubted=True), 1000, 10)[0] == (10, "silent")
    assert run(Pulse(30, 90), Seen(doubted=True), 1000, 500) == [(500, "silent"), (530, "stale")]


def test_an_answer_begins_it_all_anew():
    pulse, seen = Pulse(30, 90), Seen()
    assert run(pulse, seen, 70) == [(30, "silent"), (60, "silent")]
    seen.heard = 75

    assert run(pulse, seen, 1000, 75) == [(105, "silent"), (135, "silent"), (165, "stale")]


@given(interval=st.floats(0.1, 100), extra=st.floats(0, 300), heard=st.floats(0, 1000), first=st.floats(0, 100))
def test_death_is_noticed_between_the_limit_and_one_interval_later(
    interval: float, extra: float, heard: float, first: float
):
    stale_after = interval + extra
    found = run(Pulse(interval, stale_after), Seen(heard), 10_000, heard + min(first, interval))
    died = found[-1][0] - heard

    assert found[0][1] == "silent"
    assert found[-1][1] == "stale"
    assert stale_after - 0.01 <= died <= stale_after + interval + 0.01


def test_one_that_could_not_be_asked_is_not_dead_however_often():
    pulse, now = Pulse(30, 90), 0.0
    while now < 1000:
        look = pulse.look(now, Seen(doubted=True))
        assert look.finding is Finding.SILENT
        pulse.skip(now)
        now += look.again
    assert run(pulse, Seen(), 2000, now) == [(1020, "silent"), (1050, "silent"), (1080, "stale")]
