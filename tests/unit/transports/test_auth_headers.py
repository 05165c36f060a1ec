"""Both ways to say who we are fit where one is asked for."""

from pathlib import Path

from bascule.config.model.oauth import OAuthSettings
from bascule.core.text.redaction import Mask
from bascule.store.secrets.vault import Vault
from bascule.transports.auth.kit_tokens import MintedHeader
from bascule.transports.auth.oauth_credentials import Credentials, Target
from bascule.transports.auth_headers import SaysWho

URL = "http://127.0.0.1:8000/mcp"


def test_a_login_and_a_minted_token_are_told_alike(tmp_path: Path):
    target = Target("files", URL, {}, OAuthSettings())
    login: SaysWho = Credentials(target, "alice", Vault(tmp_path), Mask(), None, lambda: 0.0)
    minted: SaysWho = MintedHeader(lambda: "t", URL)

    assert login.header() is None
    assert minted.header() == "Bearer t"
