"""What a server asks for when it lets nobody in."""

import pytest

from bascule.identity.oauth.challenge import Challenge, read_challenge, says_expired


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ("", Challenge()),
        ("Basic realm=x", Challenge()),
        ("Bearer", Challenge()),
        ('Bearer scope="a b", error="insufficient_scope"', Challenge("insufficient_scope", "a b")),
        ("bearer ERROR=invalid_token,scope=a", Challenge("invalid_token", "a")),
        ('Basic realm="r", Bearer resource_metadata="https://a/b"', Challenge(resource_metadata="https://a/b")),
        ('Bearer scope = "a"', Challenge(scope="a")),
    ],
)
def test_a_challenge_is_read(header: str, challenge: Challenge):
    assert read_challenge(header) == challenge


@pytest.mark.parametrize("value", ['a\\"b', "a\tb", "ä", "a\x00b"])
def test_what_could_end_its_quotes_is_dropped(value: str):
    assert read_challenge(f'Bearer scope="{value}"') == Challenge()


@pytest.mark.long
def test_a_long_header_is_not_read_to_its_end():
    assert read_challenge("Bearer " + "x" * 10_000 + ' scope="a"') == Challenge()


def test_a_challenge_written_is_read_as_the_same():
    challenge = Challenge("insufficient_scope", "a b", "https://a.example/x?y=1")

    assert read_challenge(challenge.header()) == challenge
    assert Challenge().header() == "Bearer"


def test_only_one_error_is_about_scopes():
    assert Challenge("insufficient_scope").lacks_scope
    assert not Challenge("invalid_token").lacks_scope


@pytest.mark.parametrize(
    ("header", "expired"),
    [
        ('Bearer error="invalid_token", error_description="The access token expired"', True),
        ('Bearer error="invalid_token", error_description="unknown token"', False),
        ('Bearer error="invalid_request", error_description="expired"', False),
        ("Bearer", False),
        ("", False),
    ],
)
def test_a_server_may_say_that_a_token_has_expired(header: str, expired: bool):
    assert says_expired(header) is expired
