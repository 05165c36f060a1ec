"""What is kept of a login: bound to its user and server, and never shown."""

from math import inf

import pytest

from bascule.core.errors import StoreError
from bascule.identity.oauth.login import Client, Login, Tokens, joined_scopes

TOKENS = Tokens("an-access-token", "a-refresh-token", 1000.0, 4600.0, "notes")
LOGIN = Login(
    "alice", "https://a.example/mcp", "https://login.example", "https://login.example/token", Client("c"), TOKENS
)


def test_what_is_written_is_read_again():
    assert Login.read(LOGIN.written(), "alice", "https://a.example/mcp") == LOGIN


@pytest.mark.parametrize(
    ("user", "url"), [("bob", "https://a.example/mcp"), ("alice", "https://b.example/mcp")], ids=["user", "server"]
)
def test_a_login_is_of_one_user_for_one_server(user: str, url: str):
    with pytest.raises(StoreError, match="another user or server") as caught:
        Login.read(LOGIN.written(), user, url)

    assert "bascule login" in caught.value.fix


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff\xfe", b'{"user_id": 1}', LOGIN.written()[:-9]])
def test_a_damaged_login_is_no_login(data: bytes):
    with pytest.raises(StoreError, match="cannot be read"):
        Login.read(data, "alice", "https://a.example/mcp")


def test_nothing_secret_is_shown():
    login = LOGIN.with_tokens(TOKENS)
    shown = f"{login!r} {Client('c', 'a-client-secret')!r}"

    assert not any(secret in shown for secret in ("an-access-token", "a-refresh-token", "a-client-secret"))
    assert set(login.secrets) == {"an-access-token", "a-refresh-token"}


def test_a_token_counts_as_spent_a_little_before_its_end():
    assert TOKENS.good_until == 4570.0


def test_a_short_lived_token_is_not_spent_at_its_birth():
    assert Tokens("a", obtained_at=100.0, expires_at=110.0).good_until == 109.0


def test_a_token_without_an_end_is_good_until_it_is_refused():
    assert Tokens("a").good_until == inf


def test_what_is_wanted_is_remembered_until_a_login_brings_it():
    wanting = LOGIN.wanting("more").wanting("more notes")

    assert wanting.wanted == "more notes"
    assert wanting.with_tokens(None).wanted == "notes more"
    assert LOGIN.with_tokens(None).wanted == ""
    assert wanting.with_tokens(TOKENS).wanted == ""


def test_scopes_are_joined_once_each_in_order():
    assert joined_scopes("a b", None, "", "b c") == "a b c"
