"""What servers of our kit are told."""

import hashlib

import pytest

from bascule.core.errors import LoginNeeded, NotIdentified
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.core.text.redaction import Mask
from bascule.identity.jwt.claims import AT_SPAWN
from bascule.identity.jwt.minting import LIFE, Mint, MintMark
from bascule.identity.oauth.challenge import Challenge
from bascule.transports.auth.kit_tokens import FRESH, ForKit, MintedHeader

KEY = hashlib.sha256(b"a key").digest()
ALICE = Principal("alice", "s-1")
URL = "http://localhost:8000/mcp/"


def told(mask: Mask | None = None) -> ForKit:
    return ForKit(Mint(KEY), ALICE, mask or Mask(), {"BASCULE_HOME": "/state"})


async def whose(token: str, audience: str) -> Principal:
    return (await Mint(KEY).verifier(audience).verify(token)).principal


async def test_a_server_that_is_started_finds_for_whom_in_its_environment():
    variables = told().at_spawn()

    assert variables.keys() == {"BASCULE_HOME", "BASCULE_TOKEN", "BASCULE_TOKEN_KEY"}
    assert await whose(variables["BASCULE_TOKEN"], AT_SPAWN) == ALICE
    assert await MintMark.read(variables["BASCULE_TOKEN_KEY"]).verifier(AT_SPAWN).verify(variables["BASCULE_TOKEN"])


async def test_in_a_box_it_finds_what_the_box_shows_and_nothing_of_our_state():
    variables = told().in_box(Lane.PROXIED)

    assert await whose(variables.pop("BASCULE_TOKEN"), AT_SPAWN) == ALICE
    assert variables == {
        "BASCULE_LANE": "proxied",
        "BASCULE_RAISE_SOCKET": "/run/bascule/raise.sock",
        "BASCULE_RAISE_DESCRIPTOR": "3",
        "BASCULE_WORKSPACE": "/workspace",
        "BASCULE_TOKEN_KEY": str(Mint(KEY).mark),
    }


async def test_a_server_that_listens_is_shown_a_token_for_its_address_alone():
    token = (await told().at(URL).prepare()).removeprefix("Bearer ")

    assert await whose(token, "http://127.0.0.1:8000/mcp") == ALICE
    for other in ("http://127.0.0.1:8001/mcp", AT_SPAWN):
        with pytest.raises(NotIdentified):
            await whose(token, other)


def test_what_is_shown_is_secret():
    mask = Mask()
    token = told(mask).at_spawn()["BASCULE_TOKEN"]

    assert mask.text(f"I was given {token}") == "I was given ***"


def header(clock: list[float]) -> MintedHeader:
    made = iter(range(100))
    return MintedHeader(lambda: str(next(made)), URL, lambda: clock[0])


def test_a_token_is_made_anew_long_before_it_is_spent():
    clock = [0.0]
    shown = header(clock)
    assert (shown.header(), shown.header()) == ("Bearer 0", "Bearer 0")

    clock[0] = FRESH
    assert LIFE >= 2 * FRESH
    assert shown.header() == "Bearer 1"


async def test_a_token_that_is_refused_is_replaced_once():
    shown = header([0.0])
    assert shown.header() == "Bearer 0"

    await shown.renew("Bearer 0", Challenge(error="invalid_token"), again=False)
    assert shown.header() == "Bearer 1"
    with pytest.raises(LoginNeeded, match="does not believe") as caught:
        await shown.renew("Bearer 1", Challenge(error="invalid_token"), again=True)
    assert "BASCULE_HOME" in caught.value.fix


async def test_rights_that_are_missing_are_not_to_be_had_by_another_token():
    with pytest.raises(LoginNeeded, match="more rights"):
        await header([0.0]).renew("", Challenge(error="insufficient_scope"), again=False)
