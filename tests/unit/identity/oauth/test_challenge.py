"""`WWW-Authenticate` challenges and protected resource metadata."""

import json

import pytest

from bascule.identity.oauth.challenge import Challenge, metadata_url, read_challenge, resource_metadata, says_expired


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


WHERE = "https://records.example/.well-known/oauth-protected-resource/mcp"


@pytest.mark.parametrize(
    ("resource", "where"),
    [
        ("https://records.example/mcp", WHERE),
        ("https://records.example", "https://records.example/.well-known/oauth-protected-resource"),
        ("https://records.example/", "https://records.example/.well-known/oauth-protected-resource"),
        ("http://127.0.0.1:8000/a/b", "http://127.0.0.1:8000/.well-known/oauth-protected-resource/a/b"),
    ],
)
def test_the_metadata_lies_where_the_standard_says(resource: str, where: str):
    assert metadata_url(resource) == where


def test_the_document_names_where_tokens_are_issued():
    document = json.loads(
        resource_metadata("https://r.example/mcp", ("https://id.example", "bascule"), frozenset({"b", "a"}))
    )

    assert document == {
        "resource": "https://r.example/mcp",
        "authorization_servers": ["https://id.example"],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["a", "b"],
    }
    assert json.loads(resource_metadata("https://r.example/mcp", ())).keys() == {"resource", "bearer_methods_supported"}
