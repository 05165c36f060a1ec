from typing import Any

from bascule.core.principal import Principal
from bascule.runtime.servers.per_principal import Whose, drop_principal, drop_server

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")


def tables() -> tuple[dict[Whose, Any], dict[Whose, Any]]:
    return {(ALICE, "a"): 1, (ALICE, "b"): 2, (BOB, "a"): 3}, {(BOB, "b"): 4, (ALICE, "a"): 5}


def test_of_a_principal_nothing_is_kept():
    one, other = tables()
    drop_principal((one, other), ALICE, ("a", "b", "c"))
    assert (one, other) == ({(BOB, "a"): 3}, {(BOB, "b"): 4})


def test_of_a_server_nothing_is_kept():
    one, other = tables()
    drop_server((one, other), "a")
    assert (one, other) == ({(ALICE, "b"): 2}, {(BOB, "b"): 4})
