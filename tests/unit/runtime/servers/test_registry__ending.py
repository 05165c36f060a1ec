"""What an edit has put an end to."""

from dataclasses import FrozenInstanceError

import pytest

from bascule.runtime.servers.registry import Ending


def test_what_is_over_stays_what_it_is():
    ending = Ending([], [], [])
    with pytest.raises(FrozenInstanceError):
        ending.links = []  # pyright: ignore[reportAttributeAccessIssue]
