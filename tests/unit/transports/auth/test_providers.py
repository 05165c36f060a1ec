"""Who is introduced to which server, and how."""

from pathlib import Path

import pytest

from bascule.config import ServerConfig, StreamableHttpTransport
from bascule.core.principal import Nobody, Principal
from bascule.core.text.redaction import Mask
from bascule.identity.jwt.claims import RESERVED, audience_of_url
from bascule.identity.jwt.minting import Mint
from bascule.store.secrets.vault import Vault
from bascule.transports.auth.header_command import PrintedHeaders
from bascule.transports.auth.kit_tokens import MintedHeader
from bascule.transports.auth.oauth_credentials import Credentials, Logins
from bascule.transports.auth.providers import Introducing, Who, mint_of

ALICE, BOB, SHARED = Principal("alice", "s-1"), Principal("bob", "s-1"), Nobody("alice", "s-1")
URL = "https://files.example/mcp"


@pytest.fixture
def introducing(tmp_path: Path) -> Introducing:
    return Introducing(Logins(Vault(tmp_path), None, lambda: 0.0), lambda: Mint(bytes(32)))


def server(*, kit: bool) -> ServerConfig:
    return ServerConfig(name="files", transport=StreamableHttpTransport(URL), kit=kit)


def test_a_server_of_others_meets_the_users_login(introducing: Introducing):
    who = introducing.of(server(kit=False), ALICE, Mask())

    assert who.told is None
    assert who.principal == ALICE
    assert isinstance(who.at(URL), Credentials)


def test_a_server_of_our_kit_is_told_by_a_token_of_ours(introducing: Introducing):
    assert isinstance(introducing.of(server(kit=True), ALICE, Mask()).at(URL), MintedHeader)


def test_nobody_is_told_to_no_server_and_has_nobodys_login(introducing: Introducing):
    nobody, alice = (introducing.of(server(kit=True), each, Mask()) for each in (SHARED, ALICE))

    assert (nobody.told, nobody.principal) == (None, None)
    assert nobody.login is not alice.login


def test_what_a_program_prints_is_each_principals_own_and_nobodys_beside(introducing: Introducing):
    files = ServerConfig("files", StreamableHttpTransport(URL), headers_command=("print-it",))
    alice, bob, nobody = (introducing.of(files, who, Mask()).at(URL) for who in (ALICE, BOB, SHARED))

    assert isinstance(alice, PrintedHeaders)
    assert isinstance(bob, PrintedHeaders)
    assert alice is not bob
    assert introducing.of(files, ALICE, Mask()).at(URL) is alice
    assert nobody is None
    assert introducing.without_logins.of(files, ALICE, Mask()).at(URL) is None


async def test_a_server_of_our_kit_that_listens_believes_who_asks_for_nobody_and_takes_them_for_nobody_else(
    introducing: Introducing,
):
    """A runtime has to see what it lists, before anybody asks for something."""
    shown = introducing.of(server(kit=True), SHARED, Mask()).at(URL)
    assert isinstance(shown, MintedHeader)
    token = shown.header().removeprefix("Bearer ")
    stranger = (await Mint(bytes(32)).verifier(audience_of_url(URL)).verify(token)).principal

    assert stranger != ALICE
    assert stranger.session_id.startswith(RESERVED)
    assert isinstance(introducing.of(server(kit=False), SHARED, Mask()).at(URL), Credentials)


def test_a_twin_of_ours_is_told_too_but_no_login_goes_there(introducing: Introducing):
    who = introducing.without_logins.of(server(kit=True), ALICE, Mask())

    assert who.login is None
    assert isinstance(who.at(URL), MintedHeader)
    assert introducing.without_logins.of(server(kit=False), ALICE, Mask()).at(URL) is None


def test_without_a_mint_no_server_is_told(tmp_path: Path):
    bare = Introducing(Logins(Vault(tmp_path), None, lambda: 0.0))

    assert bare.of(server(kit=True), ALICE, Mask()).told is None
    assert Who().at(URL) is None


async def test_the_mint_of_a_state_folder_signs_with_the_key_that_is_kept_there(tmp_path: Path):
    token = mint_of(tmp_path).token(ALICE, "here")

    assert (await mint_of(tmp_path).verifier("here").verify(token)).principal == ALICE
