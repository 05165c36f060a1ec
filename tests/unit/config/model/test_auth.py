"""Whose tokens a server of ours believes, as values."""

from typing import Any

import pytest

from bascule.config.model.auth import (
    MOST_KEYS,
    SET_ALGORITHMS,
    AuthSettings,
    Claims,
    KeySet,
    PublicKey,
    SharedSecret,
    entry_flaws,
)
from bascule.config.secret import Secret
from bascule.config.variables import HOLE
from bascule.core.errors import ConfigError
from support.tokens import AUDIENCE, ISSUER, SECRET, ec_key, pem

URL = "https://id.example/jwks.json"


def told(entry: Any) -> list[str]:
    return [str(flaw) for flaw in entry_flaws(entry)]


@pytest.mark.parametrize(
    "entry",
    [
        {"algorithm": "HS256", "secret": SECRET},
        {"algorithm": "HS512", "secret": SECRET, "kid": "a"},
        {"algorithm": "ES256", "public_key": pem(ec_key())},
        {"algorithm": "RS256", "public_key": "keys/id.pem", "kid": "a"},
        {"jwks": URL},
        {"jwks": "http://127.0.0.1:8080/jwks", "algorithms": ["RS256", "PS256"]},
        {"algorithm": "HS256", "secret": HOLE},
    ],
)
def test_these_entries_are_right(entry: Any):
    assert told(entry) == []


@pytest.mark.parametrize(
    ("entry", "flaw"),
    [
        ("HS256", "must be a mapping"),
        ({}, "must have one of `secret`, `public_key`, `jwks`"),
        ({"algorithm": "RS256", "secret": SECRET, "jwks": URL}, "must have one of"),
        ({"algoritm": "HS256", "jwks": URL}, 'algoritm: unknown key; did you mean "algorithm"?'),
        ({"secrets": SECRET, "jwks": URL}, 'secrets: unknown key; did you mean "secret"?'),
        ({"algorithm": "HS256", "jwks": URL}, "algorithm: does not go with `jwks`"),
        ({"algorithm": "RS256", "secret": SECRET}, "algorithm: must be one of HS256, HS384, HS512"),
        ({"secret": SECRET}, "algorithm: must be one of HS256"),
        ({"algorithm": "none", "secret": SECRET}, "algorithm: must be one of"),
        ({"algorithm": "HS256", "secret": "secret"}, "secret: has 6 bytes"),
        ({"algorithm": "HS256", "secret": 5}, "secret: must be text"),
        ({"algorithm": "HS256", "secret": pem(ec_key())}, "secret: is a key in PEM"),
        ({"algorithm": "HS256", "secret": SECRET, "kid": "a b"}, "kid: must be the id"),
        ({"algorithm": "HS256", "public_key": pem(ec_key())}, "algorithm: must be one of RS256"),
        ({"algorithm": "ES256", "public_key": "-----BEGIN PRIVATE KEY-----\n"}, "public_key: is a private key"),
        ({"algorithm": "ES256", "public_key": "-----BEGIN CERTIFICATE-----"}, "public_key: must be a public key"),
        ({"algorithm": "ES256", "public_key": " "}, "public_key: must be a public key"),
        ({"jwks": "http://id.example/jwks"}, "jwks: must begin with https://"),
        ({"jwks": "file:///etc/keys"}, "jwks: must begin with https:// or http://"),
        ({"jwks": 5}, "jwks: must be text"),
        ({"jwks": URL, "algorithms": "RS256"}, "algorithms: must be a list"),
        ({"jwks": URL, "algorithms": ["HS256"]}, "algorithms[0]: must be one of RS256"),
    ],
)
def test_what_is_wrong_with_an_entry_is_told(entry: Any, flaw: str):
    (one, *_) = told(entry)

    assert flaw in one
    assert SECRET not in one


def test_nothing_secret_is_shown():
    auth = AuthSettings((SharedSecret("HS256", SECRET), SharedSecret("HS256", Secret(SECRET))), ISSUER, AUDIENCE)

    assert SECRET not in repr(auth)
    assert auth.keys[0] == auth.keys[1]


def test_a_set_has_one_algorithm_for_each_kind_of_key():
    assert KeySet(URL).algorithms == SET_ALGORITHMS
    assert KeySet(URL, ("PS256",)).algorithms == ("PS256",)


def test_without_keys_nothing_else_is_needed():
    assert AuthSettings() == AuthSettings((), None, None, Claims("sub", "session_id"))
    assert AuthSettings(audience="here").audience == "here"


@pytest.mark.parametrize(
    ("fields", "flaw"),
    [
        ({"issuer": ISSUER}, "audience: is missing beside `keys`"),
        ({"audience": AUDIENCE}, "issuer: is missing beside `keys`"),
        ({"issuer": "", "audience": AUDIENCE}, "issuer: must be text"),
        ({"issuer": ISSUER, "audience": 5}, "audience: must be text"),
    ],
)
def test_keys_need_an_issuer_and_an_audience(fields: dict[str, Any], flaw: str):
    with pytest.raises(ConfigError, match=flaw):
        AuthSettings((KeySet(URL),), **fields)


def test_an_issuer_needs_keys():
    with pytest.raises(ConfigError, match="issuer: goes with `keys`"):
        AuthSettings(issuer=ISSUER)


@pytest.mark.parametrize("keys", ["HS256", ["HS256"], [{"secret": SECRET}], 5])
def test_keys_made_in_code_must_be_keys(keys: Any):
    with pytest.raises(ConfigError, match="keys: must be a list of SharedSecret"):
        AuthSettings(keys, ISSUER, AUDIENCE)


def test_no_two_keys_have_one_id():
    keys = (SharedSecret("HS256", SECRET, "a"), SharedSecret("HS256", SECRET), KeySet(URL), KeySet(URL))
    assert AuthSettings(keys, ISSUER, AUDIENCE).keys == keys
    with pytest.raises(ConfigError, match=r"keys\[4\]\.kid: is 'a' a second time"):
        AuthSettings((*keys, PublicKey("ES256", pem(ec_key()), "a")), ISSUER, AUDIENCE)


def test_keys_have_a_bound():
    with pytest.raises(ConfigError, match="more than"):
        AuthSettings((KeySet(URL),) * (MOST_KEYS + 1), ISSUER, AUDIENCE)


@pytest.mark.parametrize("fields", [{"user": ""}, {"session": 5}, {"user": "a\n"}, {"user": "x", "session": "x"}])
def test_claims_have_names_of_their_own(fields: dict[str, Any]):
    with pytest.raises(ConfigError):
        Claims(**fields)


def test_a_private_key_is_never_kept():
    with pytest.raises(ConfigError, match="is a private key"):
        PublicKey("RS256", "-----BEGIN RSA PRIVATE KEY-----\nMII")
