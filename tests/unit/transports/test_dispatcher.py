from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from bascule.transports.dispatcher import is_new_era, progress_of


def test_the_eras_are_told_apart_as_the_sdk_does():
    assert all(map(is_new_era, MODERN_PROTOCOL_VERSIONS))
    assert not any(map(is_new_era, HANDSHAKE_PROTOCOL_VERSIONS))
    assert not is_new_era(None)


def test_progress_is_read_in_full():
    assert progress_of({"progress": 1, "total": 4.5, "message": "a quarter"}) == (1, 4.5, "a quarter")


def test_progress_needs_only_how_far():
    assert progress_of({"progress": 0.5}) == (0.5, None, None)


def test_what_is_odd_beside_the_progress_is_left_out():
    assert progress_of({"progress": 1, "total": "4", "message": 7}) == (1, None, None)


@pytest.mark.parametrize("value", [None, "1", [1], {}])
def test_progress_that_is_no_number_is_none(value: Any):
    assert progress_of({"progress": value, "total": 4}) is None
