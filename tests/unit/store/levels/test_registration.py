"""Sealed rows of runtimes: verification, acknowledgement and end."""

from typing import Any

import pytest

from bascule.store.levels.position import Position
from bascule.store.levels.registration import read_registry, row_of
from bascule.store.levels.signed_statement import UNREADABLE

KEY = b"k" * 32
AT = Position(5, "f5", "here")
RECEIPTS = {5: "f5", 6: "f6", 7: None}


def lags(name: object, sealed: object, position: Position = AT) -> bool:
    found = read_registry([(name, sealed)], KEY).laggards(position, RECEIPTS)
    assert len(found.lagging) + len(found.settled) == 1
    return bool(found.lagging)


@pytest.mark.parametrize("position", [AT, Position(6, "f6")])
def test_a_row_acknowledges_each_change_up_to_its_receipt(position: Position):
    assert not lags("one", row_of("one", position, KEY))


@pytest.mark.parametrize(
    "position",
    [Position(), Position(4, "f4"), Position(5, "f6"), Position(6, ""), Position(7, "f7"), Position(8, "f8")],
)
def test_a_row_with_an_earlier_or_unknown_receipt_acknowledges_nothing(position: Position):
    assert lags("one", row_of("one", position, KEY))


@pytest.mark.parametrize(
    ("name", "sealed"),
    [
        ("two", row_of("one", AT, KEY)),
        ("one", row_of("one", AT, b"other" * 7)),
        ("one", row_of("one", AT, KEY)[:-1]),
        ("one", b""),
        ("one", "text"),
        (b"one", row_of("one", AT, KEY)),
        (1, row_of("1", AT, KEY)),
        (None, None),
    ],
)
def test_a_row_that_does_not_verify_acknowledges_nothing_and_is_no_runtime(name: object, sealed: object):
    assert lags(name, sealed)
    registry = read_registry([(name, sealed)], KEY)
    assert registry.running == set()
    assert list(registry.rows.values()) == [UNREADABLE]


def test_a_runtime_that_has_left_is_settled_and_runs_no_more():
    registry = read_registry([("one", row_of("one", Position(), KEY, 50.0)), ("two", row_of("two", AT, KEY))], KEY)

    assert registry.running == {"two"}
    assert registry.laggards(AT, RECEIPTS).settled == {"one", "two"}
    assert (registry.left_before(50.0), registry.left_before(50.1)) == ([], ["one"])


@pytest.mark.parametrize(
    ("position", "found"),
    [
        (AT, True),
        (Position(5, "f6"), False),
        (Position(7, "f7"), False),
        (Position(8, "f8"), False),
        (Position(), True),
    ],
)
def test_a_change_is_found_by_its_number_and_fingerprint(position: Position, found: bool):
    receipts: dict[int, Any] = {number: mark for number, mark in RECEIPTS.items() if number >= position.number}

    assert read_registry([], KEY).laggards(position, receipts).found is found
