import pytest

from bascule.records.telemetry import histogram
from bascule.records.telemetry.histogram import BOUNDS, Histogram, Histograms


def test_a_duration_is_counted_below_the_first_bound_that_holds_it():
    found = Histogram()
    for seconds in (0.0, BOUNDS[0], BOUNDS[0] * 1.01, BOUNDS[-1], BOUNDS[-1] + 1):
        found.add(seconds)
    assert found.buckets[0] == 2
    assert found.buckets[1] == 1
    assert found.buckets[-2:] == [1, 1]
    assert found.count == sum(found.buckets) == 5
    assert found.total == pytest.approx(0.0 + BOUNDS[0] * 2.01 + BOUNDS[-1] * 2 + 1)


def test_names_without_end_share_what_is_left(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(histogram, "MOST_SERIES", 3)
    found: Histograms[tuple[str]] = Histograms(("other",))
    for number in range(50):
        found.add((str(number),), 1.0)
    assert [*found.series] == [("0",), ("1",), ("2",), ("other",)]
    assert found.series["other",].count == 47
    found.add(("1",), 1.0)
    assert found.series["1",].count == 2
