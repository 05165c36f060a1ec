"""The key under which witnesses state levels. It is not in the database: who can write there can forge no level."""

import secrets

from bascule.core.errors import StoreError
from bascule.store.key_files import KeyFiles

NAME = "levels.key"

LENGTH = 32
"""Bytes: as long as the hash that it is used with."""


def level_key(files: KeyFiles) -> bytes:
    """The key of this state folder; made if there is none. What was stated under a lost key is unreadable from then on,
    and so SECRET."""
    key = files.read(NAME)
    if key is None:
        key = files.create(NAME, secrets.token_bytes(LENGTH))
    if len(key) != LENGTH:
        raise StoreError(
            f"{NAME} is not used: it has {len(key)} bytes instead of {LENGTH}",
            cause="it was changed by hand, or the disk lost a part of it",
            fix="put it back from a copy; if there is none, remove it: every agent session so far is SECRET then",
        )
    return key
