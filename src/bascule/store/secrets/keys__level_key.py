"""The key under which witnesses state levels. It is not in the database: who can write there can forge no level."""

import secrets

from bascule.core.errors import StoreError
from bascule.store.secrets.key_files import KeyFiles

LEVEL_KEY = "levels.key"

LENGTH = 32
"""Bytes: as long as the hash that it is used with."""


def level_key(files: KeyFiles) -> bytes:
    """The key of this state folder; made if there is none. What was stated under a lost key is unreadable from then on,
    and so SECRET."""
    key = files.read(LEVEL_KEY)
    if key is None:
        key = files.create(LEVEL_KEY, secrets.token_bytes(LENGTH))
    if len(key) != LENGTH:
        raise StoreError(
            f"{LEVEL_KEY} is not used: it has {len(key)} bytes instead of {LENGTH}",
            cause="it was changed by hand, or the disk lost a part of it",
            fix="put it back from a copy; if there is none, remove it: every agent session so far is SECRET then",
        )
    return key
