"""Times as they are typed."""

from datetime import datetime

import pytest

from bascule.cli.commands.audit import since
from bascule.core.errors import UsageError

NOW = 1_000_000.0


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("10m", 600), ("2h", 7200), ("7d", 604_800)])
def test_so_long_ago(text: str, seconds: int):
    assert since(text, NOW) == NOW - seconds


def test_a_day_and_a_time_of_day_are_those_of_this_place():
    assert since("2026-11-01", NOW) == datetime(2026, 11, 1).astimezone().timestamp()
    assert since("2026-11-01T08:30", NOW) == datetime(2026, 11, 1, 8, 30).astimezone().timestamp()
    assert since("1970-01-02T00:00+00:00", NOW) == 86400


def test_what_is_not_given_is_the_beginning():
    assert since(None, NOW) == 0


@pytest.mark.parametrize("text", ["", "yesterday", "10", "10y", "-5m", "0000-01-01T00:00"])
def test_what_is_no_time_is_told(text: str):
    with pytest.raises(UsageError, match="is no time"):
        since(text, NOW)
