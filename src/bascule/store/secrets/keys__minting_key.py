"""The key under which our own tokens are signed. Who can read it can speak as anybody to every server of our kit."""

import secrets

from bascule.core.errors import StoreError
from bascule.store.secrets.key_files import KeyFiles

MINTING_KEY = "minting.key"

LENGTH = 32
"""Bytes: as long as the hash that it is used with."""


def minting_key(files: KeyFiles) -> bytes:
    """The key of this state folder; made if there is none. Tokens live for minutes, so a lost one costs nothing."""
    key = files.read(MINTING_KEY)
    if key is None:
        key = files.create(MINTING_KEY, secrets.token_bytes(LENGTH))
    if len(key) != LENGTH:
        raise StoreError(
            f"{MINTING_KEY} is not used: it has {len(key)} bytes instead of {LENGTH}",
            cause="it was changed by hand, or the disk lost a part of it",
            fix="remove it; the next token is signed with a new one",
        )
    return key
