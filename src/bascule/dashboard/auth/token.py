"""Login token of the dashboard: from the config, or generated once and stored."""

import secrets
from pathlib import Path

import msgspec

from bascule.config.model.gateway import LEAST_TOKEN, DashboardSettings
from bascule.config.secret import Secret
from bascule.core.errors import StoreError
from bascule.store.secrets.key_files import FOLDER, KeyFiles

NAME = "dashboard.token"


class Token(msgspec.Struct, frozen=True):
    """What opens it, and where its owner finds it."""

    text: Secret
    place: str


def token_of(settings: DashboardSettings, state_folder: Path) -> Token:
    """Raises `StoreError` where it cannot be kept, or others may have read it."""
    if settings.token is not None:
        return Token(settings.token, "under `dashboard.token` in the config")
    files, path = KeyFiles(state_folder / FOLDER), state_folder / FOLDER / NAME
    kept = files.read(NAME) or files.create(NAME, secrets.token_urlsafe(24).encode())
    text = kept.decode("ascii", "replace").strip()
    if len(text) < LEAST_TOKEN or not text.isascii():
        raise StoreError(
            f"{path} is not used: it holds no token",
            cause="it was changed by hand, or the disk lost a part of it",
            fix="remove it; the next start makes a new one",
        )
    return Token(Secret(text), f"in {path}")
