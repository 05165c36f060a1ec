"""Keys that no token may be verified with: guessable, public, short, computable (ROCA), or ambiguous by their id."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import ConfigError
from bascule.identity.jwt.keys import public_key, secret_key
from behaviour.test_gateway import served
from support.command import bascule
from support.doctor import doctor
from support.gateways import ask
from support.kit_http import line_to
from support.ports import free_port
from support.scenarios import entry, write_yaml
from support.tokens import AUDIENCE, ISSUER, SECRET, claims, jwk, listing, pem, private, roca_key, rsa_key, token

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


def auth(*keys: dict[str, Any]) -> dict[str, Any]:
    return {"port": free_port(), "auth": {"keys": [*keys], "issuer": ISSUER, "audience": AUDIENCE}}


def shown(key: Any, kid: str) -> str:
    now = time.time()
    return f"Bearer {token(claims(iat=now, exp=now + 60), key=key, more={'kid': kid})}"


async def statuses(folder: Path, url: str, *tokens: str) -> list[int]:
    """Statuses with which a gateway that takes keys from a JWKS answers these tokens."""
    async with served(folder, auth=auth({"jwks": url})["auth"]) as port, line_to(port) as line:
        return [(await ask(line, "tools/list", Authorization=each)).status for each in tokens]


@pytest.mark.requirement("GTW-2")
async def test_a_key_of_a_jwks_with_the_roca_weakness_lets_no_token_in(tmp_path: Path):
    async with listing(jwk(roca_key(), "weak"), jwk(rsa_key(), "good")) as lister:
        assert await statuses(tmp_path, lister.url, shown(roca_key(), "weak"), shown(rsa_key(), "good")) == [401, 200]


@pytest.mark.requirement("GTW-2")
@pytest.mark.parametrize("in_file", [True, False], ids=["file", "config"])
async def test_no_gateway_starts_with_a_key_with_the_roca_weakness(tmp_path: Path, in_file: bool):
    (tmp_path / "key.pem").write_text(pem(roca_key()))
    key = {"algorithm": "RS256", "public_key": "key.pem" if in_file else pem(roca_key())}
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log")}, gateway=auth(key))
    ran = await bascule(tmp_path, "serve", "--config", str(path))

    assert ran.code == 2
    assert "CVE-2017-15361" in ran.err


@pytest.mark.requirement("GTW-2")
async def test_a_jwks_with_one_kid_twice_lets_no_token_in(tmp_path: Path):
    other = rsa_key(number=1)
    async with listing(jwk(rsa_key(), "k1"), jwk(other, "k1"), jwk(rsa_key(number=2), "k2")) as lister:
        tokens = shown(rsa_key(), "k1"), shown(other, "k1"), shown(rsa_key(number=2), "k2")
        assert await statuses(tmp_path, lister.url, *tokens) == [401, 401, 401]


@pytest.mark.requirement("GTW-2")
async def test_doctor_names_the_kid_that_a_jwks_lists_twice(tmp_path: Path):
    async with listing(jwk(rsa_key(), "k1"), jwk(rsa_key(number=1), "k1")) as lister:
        write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log")}, gateway=auth({"jwks": lister.url}))
        check = (await doctor(tmp_path)).of("gateway keys")

    assert check.status == "fail"
    assert "it lists the kid 'k1' 2 times" in check.message


@pytest.mark.requirement("GTW-2")
async def test_no_gateway_starts_with_one_kid_twice_among_its_keys(tmp_path: Path):
    keys = [{"algorithm": "HS256", "secret": SECRET, "kid": "k1"}, {"algorithm": "RS256", "public_key": pem(rsa_key())}]
    path = write_yaml(
        tmp_path, {"work": entry("obeying", tmp_path / "log")}, gateway=auth(*keys, {**keys[1], "kid": "k1"})
    )
    ran = await bascule(tmp_path, "serve", "--config", str(path))

    assert ran.code == 2
    assert "gateway.auth.keys[2].kid: is 'k1' a second time" in ran.err
