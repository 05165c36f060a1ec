"""How we log in at a remote server."""

from typing import Any

import pytest

from bascule.config.model.oauth import OAuthSettings
from bascule.config.secret import Secret
from bascule.core.errors import ConfigError


def test_everything_has_a_default():
    settings = OAuthSettings()

    assert (settings.client_id, settings.scopes, settings.grant, settings.secrets) == (None, (), "person", ())
    assert settings.document_url is None


def test_secrets_become_secrets():
    settings = OAuthSettings(client_id="c", client_secret="s3cret", private_key=Secret("k3y"), grant="client")

    assert settings.secrets == ("s3cret", "k3y")
    assert "s3cret" not in repr(settings)
    assert "k3y" not in repr(settings)


@pytest.mark.parametrize(
    ("client_id", "is_document"),
    [("me", False), ("https://a.example", False), ("https://a.example/", False), ("http://a.example/c.json", False)],
)
def test_an_id_is_a_document_only_if_it_can_be_one(client_id: str, is_document: bool):
    assert (OAuthSettings(client_id=client_id).document_url is not None) is is_document


def test_the_address_of_a_document_is_its_id():
    assert OAuthSettings(client_id="https://a.example/c.json").document_url == "https://a.example/c.json"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"client_id": " "}, "client_id: must be text"),
        ({"client_id": "a\nb"}, "client_id: must be text"),
        ({"scopes": "a b"}, "scopes: must be a list"),
        ({"scopes": ("a b",)}, r"scopes\[0\]: must be one scope"),
        ({"scopes": ('a"',)}, r"scopes\[0\]: must be one scope"),
        ({"client_secret": "s"}, "client_secret: goes with `client_id`"),
        ({"grant": "magic"}, "grant: must be one of person, client"),
        ({"grant": "client", "client_id": "c"}, "grant: client needs"),
        ({"client_id": "c", "private_key": "k"}, "private_key: goes with the grant"),
    ],
)
def test_what_cannot_work_is_refused(settings: dict[str, Any], told: str):
    with pytest.raises(ConfigError, match=told):
        OAuthSettings(**settings)
