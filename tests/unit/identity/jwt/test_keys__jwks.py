"""The keys an identity provider lists."""

import json
from typing import Any

import pytest

from bascule.config.model.auth import SET_ALGORITHMS
from bascule.identity.jwt.keys import MOST_KEYS, read_key_set
from support.tokens import ec_key, ed_key, jwk, rsa_key

GOOD = jwk(rsa_key(), "good")


def read(*keys: Any, algorithms: tuple[str, ...] = SET_ALGORITHMS) -> list[tuple[str | None, str]]:
    """Ids and algorithms of what is usable. A good key stands first, so that there is always one."""
    body = json.dumps({"keys": [GOOD, *keys]}).encode()
    return [(key.kid, key.algorithm) for key in read_key_set(body, algorithms)][1:]


def test_each_kind_of_key_is_read():
    listed = [jwk(rsa_key(number=1), "r"), jwk(ec_key(), "e"), jwk(ec_key("ES384"), "f"), jwk(ed_key(), "o")]

    assert read(*listed) == [("r", "RS256"), ("e", "ES256"), ("f", "ES384"), ("o", "EdDSA")]
    assert read(jwk(rsa_key(), None, use="sig", key_ops=["verify"], x5u="http://127.0.0.1:1/")) == [(None, "RS256")]


@pytest.mark.parametrize(
    "unfit",
    [
        None,
        [],
        {},
        {"kty": "oct", "k": "A" * 43, "kid": "x"},
        {"kty": "oct", "alg": "HS256", "kid": "x"},
        {"kty": 5, "kid": "x"},
        {"kty": "RSA", "kid": "x"},
        {"kty": "RSA", "n": 5, "e": "AQAB"},
        {"kty": "RSA", "n": "", "e": ""},
        {"kty": "RSA", "n": "****", "e": "AQAB"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": ["P-256"], "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "P-256", "x": "A" * 43, "y": "A" * 43},
        {"kty": "EC", "crv": "secp256k1", "x": "A" * 43, "y": "A" * 43},
        {"kty": "OKP", "crv": "Ed448", "x": "A" * 76},
        {"kty": "OKP", "crv": "X25519", "x": "A" * 43},
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
        jwk(rsa_key(1024)),
        jwk(rsa_key(), use="enc"),
        jwk(rsa_key(), use=None),
        jwk(rsa_key(), key_ops=["encrypt"]),
        jwk(rsa_key(), key_ops="verify"),
        {**GOOD, "kid": 5},
        jwk(rsa_key(), d="AQAB"),
        jwk(rsa_key(), alg="HS256"),
        jwk(rsa_key(), alg="none"),
        jwk(rsa_key(), alg="PS256"),
        jwk(rsa_key(), alg=["RS256"]),
        jwk(ec_key(), alg="ES384"),
        jwk(ec_key(), d="AQAB"),
    ],
)
def test_an_unfit_key_is_left_out_and_the_others_stay(unfit: Any):
    assert read(unfit) == []


def test_a_key_that_could_be_for_several_algorithms_must_say_which():
    both = ("RS256", "PS256")
    body = json.dumps({"keys": [jwk(rsa_key(), "a"), jwk(rsa_key(number=1), "b", alg="PS256")]}).encode()

    assert [(key.kid, key.algorithm) for key in read_key_set(body, both)] == [("b", "PS256")]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"keys": {}}',
        b'{"keys": []}',
        b'{"keys": [{}]}',
        b'{"keys": ' + b"[" * 3000 + b"]" * 3000 + b"}",
        json.dumps({"keys": [GOOD] * (MOST_KEYS + 1)}).encode(),
    ],
)
def test_what_is_no_set_of_keys_is_none(body: bytes):
    with pytest.raises(ValueError, match="it "):
        read_key_set(body, SET_ALGORITHMS)
