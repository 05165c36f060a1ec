"""Token verification keys, and the keys of a JWKS document."""

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa

from bascule.config.model.auth import SET_ALGORITHMS
from bascule.core.errors import ConfigError
from bascule.identity.jwt.keys import (
    MOST_KEYS,
    Key,
    asymmetric_key,
    check_one_algorithm_each,
    has_roca,
    public_key,
    read_key_set,
    secret_key,
)
from support.tokens import ALGORITHMS, SECRET, ec_key, ed_key, jwk, pem, private, roca_key, rsa_key, signature


def key_for(algorithm: str) -> Key:
    return secret_key(algorithm, SECRET) if algorithm[:2] == "HS" else public_key(algorithm, pem(private(algorithm)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_key_verifies_what_was_signed_and_nothing_else(algorithm: str):
    key = key_for(algorithm)
    good = signature(algorithm, b"text", private(algorithm))

    assert key.verifies(b"text", good)
    assert not key.verifies(b"other", good)
    assert not key.verifies(b"text", good[:-1])
    assert not key.verifies(b"text", b"")


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [
        ("RS256", ec_key()),
        ("PS256", ed_key()),
        ("ES256", rsa_key()),
        ("ES256", ec_key("ES384")),
        ("ES384", ec_key("ES256")),
        ("ES512", ec_key("ES384")),
        ("ES256", ec.generate_private_key(ec.SECP256K1())),
        ("EdDSA", ec_key()),
        ("EdDSA", ed448.Ed448PrivateKey.generate()),
        ("RS256", rsa_key(1024)),
        ("RS256", roca_key()),
        ("PS512", roca_key()),
    ],
)
def test_a_key_of_another_kind_or_too_short_is_refused(algorithm: str, key: Any):
    with pytest.raises(ConfigError, match="cannot be used"):
        public_key(algorithm, pem(key))


@pytest.mark.parametrize("text", ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "ssh-rsa AAAA"])
def test_what_is_no_key_is_refused(text: str):
    with pytest.raises(ConfigError, match="cannot be read"):
        public_key("RS256", text)


def test_a_public_key_is_no_secret():
    with pytest.raises(ConfigError, match="key of another kind"):
        secret_key("HS256", pem(rsa_key()))


def test_a_secret_that_no_bytes_stand_for_is_refused():
    with pytest.raises(ConfigError, match="stand for no bytes"):
        secret_key("HS256", f"\ud800{SECRET}")


def test_a_secret_that_is_too_weak_is_refused():
    with pytest.raises(ConfigError, match="has 5 bytes"):
        secret_key("HS256", "short")


@pytest.mark.parametrize(
    ("own", "named", "serves"),
    [
        (None, None, True),
        (None, "k1", True),
        (None, "keys/k1", False),
        ("k1", None, True),
        ("k1", "k1", True),
        ("k1", "k2", False),
        ("a/b=", "a/b=", True),
    ],
)
def test_which_key_a_name_means(own: str | None, named: str | None, serves: bool):
    assert secret_key("HS256", SECRET, own).serves(named) is serves


def test_one_key_has_one_algorithm():
    check_one_algorithm_each((key_for("RS256"), key_for("RS256"), key_for("ES256")))

    for first, second in (("RS256", "PS256"), ("RS256", "RS512"), ("HS256", "HS512")):
        with pytest.raises(ConfigError, match=f"one key is given for {first} and for {second}"):
            check_one_algorithm_each((key_for(first), key_for(second)))


def test_nothing_of_a_key_is_shown():
    assert repr(secret_key("HS256", SECRET, "k1")) == "Key(algorithm='HS256', kid='k1')"


def test_a_key_that_was_read_elsewhere_is_judged_the_same():
    with pytest.raises(ConfigError, match="2048"):
        asymmetric_key("RS256", rsa_key(1024).public_key(), None)


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
        jwk(roca_key()),
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


def test_a_modulus_with_the_roca_structure_is_found():
    modulus = roca_key().public_key().public_numbers().n
    assert modulus.bit_length() == 2048
    assert has_roca(modulus)
    with pytest.raises(ConfigError, match="CVE-2017-15361"):
        public_key("RS256", pem(roca_key()))


def test_an_ordinary_modulus_is_not_refused(scale: int):
    """20 keys, or 1,000 in `make soak`."""
    for _ in range(20 if scale == 1 else 100 * scale):
        key = rsa.generate_private_key(65537, 2048)
        assert not has_roca(key.public_key().public_numbers().n)


def test_the_flaw_of_a_key_that_is_left_out_of_a_set_is_logged(caplog: pytest.LogCaptureFixture):
    read(jwk(roca_key(), "weak\n"), jwk(rsa_key(1024), "short"), {"kty": "RSA", "n": "*", "e": "AQAB", "kid": "odd"})

    first, second, third = [record.getMessage() for record in caplog.records]
    assert first.startswith("the key with the kid 'weak\\n' of a JWKS is left out: ")
    assert "CVE-2017-15361" in first
    assert "'short'" in second
    assert "2048" in second
    assert third == "the key with the kid 'odd' of a JWKS is left out: it cannot be read"


@pytest.mark.parametrize(
    "second", [jwk(rsa_key(number=1), "a"), jwk(ec_key(), "a"), jwk(rsa_key(), "a"), jwk(rsa_key(), "a", use="enc")]
)
def test_a_set_with_one_kid_twice_is_no_set(second: Any):
    body = json.dumps({"keys": [jwk(rsa_key(), "a"), jwk(ec_key(), "b"), second]}).encode()
    with pytest.raises(ValueError, match="it lists the kid 'a' 2 times, so none of its keys is used"):
        read_key_set(body, SET_ALGORITHMS)


def test_keys_without_an_id_are_not_the_same():
    assert read(jwk(rsa_key(number=1), None), jwk(ec_key(), None)) == [(None, "RS256"), (None, "ES256")]


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
