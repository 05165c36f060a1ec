"""On whose behalf something happens."""

import pytest

from bascule.core.errors import UsageError
from bascule.core.principal import MAX_ID, Nobody, Principal


@pytest.mark.parametrize("user", ["alice", "alice@example.com", "auth0|123", "a b", "ü", "x" * MAX_ID])
def test_ids_of_identity_providers_are_taken_as_they_are(user: str):
    assert Principal(user, "s-1").user_id == user


@pytest.mark.parametrize("bad", ["", "x" * (MAX_ID + 1), "a\nb", "a\0b", "\u202ealice", "\x1b[31m"])
def test_an_id_that_is_empty_too_long_or_unprintable_is_refused(bad: str):
    with pytest.raises(UsageError, match="user_id must be"):
        Principal(bad, "s")
    with pytest.raises(UsageError, match="session_id must be"):
        Principal("alice", bad)


def test_a_refused_id_is_not_repeated_in_full():
    with pytest.raises(UsageError) as caught:
        Principal("x" * 10_000, "s")

    assert len(caught.value.message) < 200


def test_equal_principals_are_one_key():
    assert {Principal("a", "b"): 1}[Principal("a", "b")] == 1
    assert Principal("a", "b") != Principal("b", "a")
    assert str(Principal("alice", "s-1")) == "alice/s-1"


def test_nobody_is_no_user_of_the_same_name():
    user, nobody = Principal("bascule", "shared"), Nobody("bascule", "shared")

    assert user != nobody
    assert {user: "theirs"}.get(nobody) is None
