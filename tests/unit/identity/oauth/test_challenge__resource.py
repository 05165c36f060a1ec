"""What a server of ours tells whoever it does not let in."""

import json

import pytest

from bascule.identity.oauth.challenge import metadata_url, resource_metadata

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
