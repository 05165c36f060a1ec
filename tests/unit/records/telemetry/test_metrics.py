import re

from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.labels import ClientLabels, ServerLabels, SessionLabels
from bascule.records.telemetry.metrics import CLIENT, FAMILIES, SENT, SERVER, SESSION, Sent, sent_families


def test_each_label_has_a_name():
    assert len(CLIENT) == len(ClientLabels._fields)
    assert len(SERVER) == len(ServerLabels._fields)
    assert len(SESSION) == len(SessionLabels._fields)


def test_no_metric_is_there_twice_and_all_are_named_alike():
    names = [family.name for family in FAMILIES] + [*SENT]
    assert len(names) == len({*names})
    assert all(re.fullmatch(r"(mcp|bascule)(\.[a-z_]+)+", name) for name in names)


def test_durations_have_the_conventions_unit():
    assert {family.unit for family in FAMILIES if family.kind == "histogram"} == {"s"}


def test_links_are_counted_when_somebody_looks():
    counts = Counts()
    counts.links = lambda: [("a", "open", "ready"), ("a", "open", "ready"), ("b", "sealed", "failed")]
    family = next(family for family in FAMILIES if family.name == "bascule.links")
    assert family.read(counts) == [(("a", "open", "ready"), 2), (("b", "sealed", "failed"), 1)]


def test_how_sending_fares_is_told_as_it_is():
    families = [*sent_families(Sent(spans=1, dropped=2, failures=3))]
    assert [family.read(Counts()) for family in families] == [[((), 1)], [((), 2)], [((), 3)]]
