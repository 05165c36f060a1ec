"""Keys, and the files they may lie in."""

from pathlib import Path
from typing import Any

import pytest

from bascule.config import KeySet, PublicKey, SharedSecret
from bascule.config.loading.kit_server_draft import token_key
from support.tokens import SECRET, ec_key, pem


def test_every_kind_of_key_is_read(tmp_path: Path):
    (tmp_path / "id.pem").write_text(pem(ec_key()))
    entries: list[dict[str, Any]] = [
        {"algorithm": "HS256", "secret": SECRET, "kid": "a"},
        {"algorithm": "ES256", "public_key": pem(ec_key())},
        {"algorithm": "ES256", "public_key": "id.pem"},
        {"jwks": "https://id.example/keys"},
    ]
    keys = [token_key(entry, tmp_path) for entry in entries]
    assert [flaw for _, flaw in keys] == [None] * 4
    assert [type(key) for key, _ in keys] == [SharedSecret, PublicKey, PublicKey, KeySet]
    assert keys[1] == keys[2]


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"not a key"])
def test_a_file_that_holds_no_key_is_told(tmp_path: Path, content: bytes | None):
    if content is not None:
        (tmp_path / "id.pem").write_bytes(content)
    key, flaw = token_key({"algorithm": "ES256", "public_key": "id.pem"}, tmp_path)
    assert key is None
    assert flaw
