"""Where the token of the dashboard comes from."""

from pathlib import Path

import pytest

from bascule.config.model.gateway import LEAST_TOKEN, DashboardSettings
from bascule.config.secret import Secret
from bascule.core.errors import StoreError
from bascule.dashboard.auth.token import token_of


def test_one_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path):
    first = token_of(DashboardSettings(), tmp_path)
    kept = tmp_path / "keys" / "dashboard.token"
    assert len(first.text.reveal()) >= 2 * LEAST_TOKEN
    assert token_of(DashboardSettings(), tmp_path).text == first.text
    assert str(kept) in first.place
    assert kept.stat().st_mode & 0o777 == 0o600
    assert first.text.reveal() not in repr(first)


def test_one_that_was_chosen_is_not_written_anywhere(tmp_path: Path):
    token = token_of(DashboardSettings(token=Secret("a-token-of-one's-own")), tmp_path / "state")
    assert (token.text.reveal(), "dashboard.token" in token.place) == ("a-token-of-one's-own", True)
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("content", [b"short", b"", b"\xff" * 40])
def test_a_file_that_holds_no_token_is_not_used(tmp_path: Path, content: bytes):
    token_of(DashboardSettings(), tmp_path)
    kept = tmp_path / "keys" / "dashboard.token"
    kept.write_bytes(content)
    if content:
        with pytest.raises(StoreError, match="holds no token"):
            token_of(DashboardSettings(), tmp_path)
    else:
        with pytest.raises(StoreError):
            token_of(DashboardSettings(), tmp_path)


def test_a_token_that_others_can_read_is_not_used(tmp_path: Path):
    token_of(DashboardSettings(), tmp_path)
    (tmp_path / "keys" / "dashboard.token").chmod(0o644)
    with pytest.raises(StoreError, match="others than you"):
        token_of(DashboardSettings(), tmp_path)
