"""Keys that no token may be verified with: what can be guessed, what everybody has, what is too short."""

import base64
import json

import pytest

from bascule.core.errors import ConfigError
from bascule.identity.jwt.keys import public_key, secret_key
from support.tokens import jwk, pem, private, rsa_key

WEAK = (
    *("secret", "", "s" * 64, "ab" * 32, "secret" * 12, "changeme" * 8, "0123456789abcdef" * 4, "x" * 31),
    *("your-256-bit-secret", "your-256-bit-secret-your-256-bit-secret", "your-256-bit-secret".ljust(64, "0")),
    *("a-string-secret-at-least-256-bits-long", "changeme".ljust(64, "!"), "abcdefghijklmnopqrstuvwxyz0123456789"),
    *(
        "supersecretkeythatislongenoughforhs256",
        "my-super-secret-key-please-change-me-now",
        "password123456789".ljust(48, "z"),
    ),
    "AyM1SysPpbyDfZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
)


@pytest.mark.parametrize("secret", WEAK)
def test_no_verifier_is_made_with_a_secret_that_can_be_guessed(secret: str):
    with pytest.raises(ConfigError) as refused:
        secret_key("HS256", secret)
    assert len(secret) < 8 or secret not in str(refused.value)


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
@pytest.mark.parametrize("kind", ["RS256", "ES256", "EdDSA"])
def test_no_public_key_is_a_secret(algorithm: str, kind: str):
    text = pem(private(kind))
    der = base64.b64decode("".join(text.splitlines()[1:-1]))
    for disguise in (text, text.strip(), f"\n{text}", der, json.dumps(jwk(private(kind)))):
        with pytest.raises(ConfigError):
            secret_key(algorithm, disguise)


def test_no_verifier_is_made_with_a_short_rsa_key():
    with pytest.raises(ConfigError, match="2048"):
        public_key("RS256", pem(rsa_key(1024)))
