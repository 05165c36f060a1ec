"""The public half of a mint's key: it tells our tokens from others, and nobody makes one with it."""

import base64
import secrets

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bascule.core.errors import ConfigError, NotIdentified
from bascule.core.principal import Principal
from bascule.identity.jwt.minting import ISSUER, KEY_VARIABLE, KIND, LIFE, Mint, MintMark
from support.tokens import NOW, claims, part, token

MINT = Mint(secrets.token_bytes(32), lambda: NOW)
ALICE = Principal("alice", "s-1")
HERE = "http://127.0.0.1:8000/mcp"
BODY = claims(iss=ISSUER, aud=HERE, exp=NOW + LIFE)


def mark(text: str = "") -> MintMark:
    return MintMark.read(text or str(MINT.mark), lambda: NOW)


async def test_it_believes_what_its_mint_has_made():
    assert (await mark().verifier(HERE).verify(MINT.token(ALICE, HERE))).principal == ALICE
    assert str(mark()) == str(MINT.mark)
    assert mark().kid == MINT.mark.kid


async def test_it_believes_what_its_mint_has_made_for_others_no_more_than_that_mint_does():
    for audience, mint in ((HERE, Mint(secrets.token_bytes(32), lambda: NOW)), ("http://127.0.0.1:1/mcp", MINT)):
        with pytest.raises(NotIdentified):
            await mark().verifier(HERE).verify(mint.token(ALICE, audience))


async def test_who_has_the_mark_cannot_make_a_token_with_it():
    """Every use of it as a key that there is: as a shared secret in each of its forms, and as a seed."""
    public = base64.urlsafe_b64decode(f"{MINT.mark}=")
    forged = [
        token(BODY, algorithm=algorithm, key=key, more={"typ": KIND, **more})
        for algorithm in ("HS256", "HS384", "HS512")
        for key in (public, str(MINT.mark).encode(), public.hex().encode(), b"")
        for more in ({}, {"kid": MINT.mark.kid})
    ]
    seeded = Ed25519PrivateKey.from_private_bytes(public)
    forged += [token(BODY, algorithm="EdDSA", key=seeded, more={"typ": KIND, "kid": MINT.mark.kid})]
    forged += [Mint(public, lambda: NOW).token(ALICE, HERE)]
    unsigned = f"{part({'alg': 'none', 'typ': KIND})}.{part(BODY)}."
    # What was signed for somebody else, with another body put in.
    head, _, seal = MINT.token(Principal("bob", "s-2"), HERE).split(".")

    for each in (*forged, unsigned, f"{unsigned}AAAA", f"{head}.{part(BODY)}.{seal}"):
        for believer in (mark().verifier(HERE), MINT.verifier(HERE)):
            with pytest.raises(NotIdentified):
                await believer.verify(each)


@pytest.mark.parametrize("text", ["", "x", "not a key", "A" * 42, "A" * 44, "é" * 43, "A" * 10_000])
def test_what_is_no_mark_is_an_error_that_says_where_to_get_one(text: str):
    with pytest.raises(ConfigError, match=KEY_VARIABLE) as caught:
        mark(text or " ")
    assert "bascule token --key" in caught.value.fix


def test_it_is_found_in_the_environment():
    assert MintMark.named({}) is None
    found = MintMark.named({KEY_VARIABLE: f" {MINT.mark}\n"})
    assert str(found) == str(MINT.mark)
    with pytest.raises(ConfigError):
        MintMark.named({KEY_VARIABLE: ""})
