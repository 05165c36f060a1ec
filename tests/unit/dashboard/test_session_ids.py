"""Agent sessions in addresses, and back."""

import pytest

from bascule.core.principal import Principal
from bascule.dashboard.session_ids import LONGEST, principal_of, session_id


@pytest.mark.parametrize("ids", [("alice", "s-1"), ("a/b?c#d", "ü € 💚"), ("x" * 255, "💚" * 255)])
def test_there_and_back(ids: tuple[str, str]):
    told = session_id(Principal(*ids))
    assert principal_of(told) == Principal(*ids)
    assert told.replace("-", "").replace("_", "").isalnum()
    assert len(told) < LONGEST


@pytest.mark.parametrize("odd", ["", "x", "%%%", "bm9ib2R5", "WyJhIl0", "WyJhIiwiIl0", "a" * 5000, "ü"])
def test_what_is_no_id_is_nobody(odd: str):
    assert principal_of(odd) is None
