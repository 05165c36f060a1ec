"""What a server of ours tells whoever it does not let in."""

import json

import pytest

from bascule.core.errors import ConfigError, NotIdentified
from bascule.identity.challenge import read_challenge
from bascule.identity.refusal import not_believed
from bascule.identity.resource import Answer, answer_to, metadata_url, resource_metadata

WHERE = "https://records.example/.well-known/oauth-protected-resource/mcp"


def test_who_shows_no_token_is_told_where_to_get_one_and_no_error():
    nobody = NotIdentified("no token was shown", rule="token_shown")

    assert answer_to(nobody, WHERE) == Answer(401, f'Bearer resource_metadata="{WHERE}"')
    assert answer_to(nobody) == Answer(401, "Bearer")


def test_a_bad_token_is_told_as_such_and_why_is_not():
    answer = answer_to(not_believed("its time is up", "token_expired"), WHERE)

    assert answer == Answer(401, f'Bearer error="invalid_token", resource_metadata="{WHERE}"')


def test_a_missing_scope_is_named():
    lacking = NotIdentified("no", rule="token_scope", error="insufficient_scope")
    answer = answer_to(lacking, WHERE, frozenset({"write", "read"}))

    assert answer.status == 403
    assert read_challenge(answer.header).scope == "read write"


@pytest.mark.parametrize("where", ['https://a/"x', "https://a/\r\nX: y", "https://a/ä"])
def test_nothing_can_end_the_quotes(where: str):
    with pytest.raises(ConfigError, match="cannot be written"):
        answer_to(NotIdentified("no", rule="token_shown"), where)


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
