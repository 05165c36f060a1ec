"""From a config to what believes tokens."""

import secrets
import time

import pytest

from bascule.config.model.auth import AuthSettings, Claims, KeySet, PublicKey, SharedSecret, TokenKey
from bascule.core.errors import ConfigError, NotIdentified
from bascule.core.principal import Principal
from bascule.identity.jwt.from_config import configured_verifier, verifiers_of
from bascule.identity.jwt.minting import Mint
from support.tokens import AUDIENCE, ISSUER, SECRET, claims, ec_key, jwk, listing, pem, roca_key, rsa_key, token

HERE = "http://127.0.0.1:8000/mcp"
MINT = Mint(secrets.token_bytes(32))
ALICE = Principal("alice", "s-1")


def now_good(algorithm: str, **changes: object) -> str:
    now = time.time()
    return token(claims(exp=now + 60, iat=now, **changes), algorithm=algorithm, more={"kid": "k1"})


def auth(*keys: TokenKey, claims: Claims | None = None) -> AuthSettings:
    return AuthSettings(keys, ISSUER, AUDIENCE, claims or Claims())


async def test_every_kind_of_key_can_be_configured():
    async with listing(jwk(ec_key(), "k1")) as lister:
        configured = auth(SharedSecret("HS256", SECRET), PublicKey("RS256", pem(rsa_key()), "k1"), KeySet(lister.url))
        verifier = configured_verifier(configured)

        for algorithm in ("HS256", "RS256", "ES256"):
            assert (await verifier.verify(now_good(algorithm))).principal == ALICE
        with pytest.raises(NotIdentified):
            await verifier.verify(now_good("PS256"))
        assert lister.fetches == 1
        await verifier.aclose()


async def test_claims_are_mapped_as_configured():
    verifier = configured_verifier(auth(SharedSecret("HS256", SECRET), claims=Claims("email", "chat")))
    identity = await verifier.verify(now_good("HS256", email="ada@example.com", chat="c-1"))

    assert identity.principal == Principal("ada@example.com", "c-1")


async def test_scopes_can_be_asked_for():
    verifier = configured_verifier(auth(SharedSecret("HS256", SECRET)), frozenset({"read"}))

    assert await verifier.verify(now_good("HS256", scope="read"))
    with pytest.raises(NotIdentified):
        await verifier.verify(now_good("HS256"))


def test_a_key_with_the_roca_weakness_is_refused():
    with pytest.raises(ConfigError, match="CVE-2017-15361"):
        verifiers_of(auth(PublicKey("RS256", pem(roca_key()))), HERE, MINT.mark)


async def test_without_keys_our_own_tokens_are_believed_and_no_others():
    verifier = verifiers_of(AuthSettings(), HERE, MINT.mark)

    assert (await verifier.verify(MINT.token(ALICE, HERE))).principal == ALICE
    for other in (now_good("HS256"), MINT.token(ALICE, "https://other.example/mcp")):
        with pytest.raises(NotIdentified):
            await verifier.verify(other)


async def test_with_keys_both_are_believed_each_for_its_audience():
    verifier = verifiers_of(auth(SharedSecret("HS256", SECRET)), HERE, MINT.mark)

    assert await verifier.verify(now_good("HS256"))
    assert await verifier.verify(MINT.token(ALICE, HERE))
    with pytest.raises(NotIdentified):
        await verifier.verify(MINT.token(ALICE, AUDIENCE))
    await verifier.aclose()


def test_with_neither_keys_nor_a_mint_there_is_nothing_to_believe():
    with pytest.raises(ConfigError):
        verifiers_of(AuthSettings(), HERE, None)


def test_a_key_that_cannot_be_used_is_told():
    with pytest.raises(ConfigError, match="curve"):
        configured_verifier(auth(PublicKey("ES384", pem(ec_key()))))
    with pytest.raises(ConfigError, match="one key is given for"):
        configured_verifier(auth(PublicKey("RS256", pem(rsa_key())), PublicKey("PS256", pem(rsa_key()))))
