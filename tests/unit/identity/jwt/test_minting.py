"""Minted tokens, and the public half of the key that verifies them."""

import base64
import secrets
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bascule.core.errors import ConfigError, NotIdentified
from bascule.core.principal import Principal
from bascule.identity.jwt.claims import LEEWAY, ONE_PER_USER, Expected
from bascule.identity.jwt.keys import public_key
from bascule.identity.jwt.minting import ISSUER, KEY_VARIABLE, KIND, LIFE, Mint, MintMark
from bascule.identity.jwt.verifier import Verifier
from support.tokens import NOW, claims, part, pem, token

KEY = secrets.token_bytes(32)
PRIVATE = Ed25519PrivateKey.from_private_bytes(KEY)
ALICE = Principal("alice", "s-1")
HERE = "http://127.0.0.1:8000/mcp"


def mint(now: float = NOW, key: bytes = KEY) -> Mint:
    return Mint(key, lambda: now)


async def test_a_minted_token_says_on_whose_behalf():
    identity = await mint().verifier(HERE).verify(mint().token(ALICE, HERE))

    assert identity.principal == ALICE
    assert identity.expires_at == NOW + LIFE


def test_another_library_reads_the_same():
    text = mint().token(ALICE, HERE)
    read = jwt.decode(
        text,
        PRIVATE.public_key(),
        ["EdDSA"],
        audience=HERE,
        issuer=ISSUER,
        options={"verify_exp": False, "verify_iat": False, "verify_nbf": False},
    )

    assert read.keys() == {"iss", "aud", "sub", "session_id", "iat", "nbf", "exp", "jti"}
    assert (read["sub"], read["session_id"], read["exp"] - read["iat"]) == ("alice", "s-1", LIFE)
    assert jwt.get_unverified_header(text)["typ"] == KIND


def test_no_two_tokens_are_the_same():
    assert len({mint().token(ALICE, HERE) for _ in range(50)}) == 50


@pytest.mark.parametrize(
    ("now", "key", "audience"),
    [
        (NOW + LIFE + LEEWAY, KEY, HERE),
        (NOW - LEEWAY - 1, KEY, HERE),
        (NOW, secrets.token_bytes(32), HERE),
        (NOW, KEY, "http://127.0.0.1:8001/mcp"),
    ],
    ids=["expired", "not yet", "another key", "another audience"],
)
async def test_it_is_believed_for_minutes_by_one_audience_with_the_same_key(now: float, key: bytes, audience: str):
    with pytest.raises(NotIdentified):
        await mint(now, key).verifier(audience).verify(mint().token(ALICE, HERE))


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({}, {"typ": "JWT"}),
        ({"iss": "https://id.example"}, {}),
        ({"exp": NOW + LIFE + LEEWAY + 1}, {}),
        ({"session_id": None}, {}),
        ({"sub": ""}, {}),
    ],
)
async def test_a_token_that_we_would_not_mint_is_not_believed_even_with_our_key(
    changes: dict[str, Any], more: dict[str, Any]
):
    body = {**claims(iss=ISSUER, aud=HERE, exp=NOW + LIFE), **changes}
    with pytest.raises(NotIdentified):
        await mint().verifier(HERE).verify(token(body, algorithm="EdDSA", key=PRIVATE, more={"typ": KIND, **more}))

    good = token(claims(iss=ISSUER, aud=HERE, exp=NOW + LIFE), algorithm="EdDSA", key=PRIVATE, more={"typ": KIND})
    assert (await mint().verifier(HERE).verify(good)).principal == ALICE


async def test_it_is_believed_by_no_verifier_of_other_tokens():
    other = Verifier((public_key("EdDSA", pem(PRIVATE)),), Expected(issuer=ISSUER, audience=HERE), clock=lambda: NOW)
    with pytest.raises(NotIdentified) as refused:
        await other.verify(mint().token(ALICE, HERE))

    assert refused.value.rule == "token_kind"


@pytest.mark.parametrize(
    "principal", [Principal("alice", ONE_PER_USER), Principal("team/alice", "chat/1"), Principal(" a ", "..")], ids=str
)
async def test_any_principal_that_a_runtime_can_have_is_passed_on_as_it_is(principal: Principal):
    assert (await mint().verifier(HERE).verify(mint().token(principal, HERE))).principal == principal


@pytest.mark.parametrize(("asked", "given"), [(60, 60), (LIFE, LIFE), (86400, LIFE)])
async def test_its_life_can_be_shorter_and_never_longer(asked: float, given: float):
    identity = await mint().verifier(HERE).verify(mint().token(ALICE, HERE, asked))

    assert identity.expires_at == NOW + given


async def test_the_key_is_that_of_the_state_folder(tmp_path: Path):
    text = Mint.of(tmp_path).token(ALICE, HERE)

    assert (await Mint.of(tmp_path).verifier(HERE).verify(text)).principal == ALICE
    with pytest.raises(NotIdentified):
        await Mint.of(tmp_path / "other").verifier(HERE).verify(text)


def test_the_mark_is_not_the_key():
    assert mint().mark._public == PRIVATE.public_key().public_bytes_raw() != KEY
    assert mint().mark.kid == mint().mark.kid != mint(key=secrets.token_bytes(32)).mark.kid


def test_nothing_of_the_key_is_shown():
    assert KEY.hex() not in repr(mint())
    assert repr(KEY)[2:-1] not in repr(vars(mint().verifier(HERE)))


MINT = Mint(secrets.token_bytes(32), lambda: NOW)
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
