"""Signing keys of a state folder: for the audit log, for sensitivity levels, and for minted tokens. They are in key
files, never in the database or the log that they protect."""

import secrets

from bascule.core.errors import StoreError
from bascule.store.secrets.key_files import KeyFiles

AUDIT_KEY = "audit.key"
"""Key of the hash chain. Without it, a program that can write the log cannot forge a record."""

LENGTH = 32
"""Bytes: as long as the hash that it is used with."""


def audit_key(files: KeyFiles, *, make: bool) -> bytes:
    """The key of the audit log. `make` says whether one may be made where there is none: not beside a log, which
    could never be verified any more."""
    key = files.read(AUDIT_KEY)
    if key is None:
        if not make:
            raise StoreError(
                f"the audit log cannot be read or continued: its key, {AUDIT_KEY}, is gone",
                cause="somebody has removed it, or the log was copied without its key",
                fix=f"put {AUDIT_KEY} back from a copy; or move the folder `audit` away, and a new log begins",
            )
        key = files.create(AUDIT_KEY, secrets.token_bytes(LENGTH))
    if len(key) != LENGTH:
        raise StoreError(
            f"{AUDIT_KEY} is not used: it has {len(key)} bytes instead of {LENGTH}",
            cause="it was changed by hand, or the disk lost a part of it",
            fix=f"put {AUDIT_KEY} back from a copy; or move it and the folder `audit` away, and a new log begins",
        )
    return key


LEVEL_KEY = "levels.key"
"""Key of the witnesses' statements. Without it, a program that can write the database cannot forge a level."""


def level_key(files: KeyFiles) -> bytes:
    """The key of sensitivity levels; made if there is none. A statement under a lost key is unreadable, and its level
    counts as SECRET."""
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


MINTING_KEY = "minting.key"
"""Key of minted tokens. A program that can read it can impersonate every user to every kit server."""


def minting_key(files: KeyFiles) -> bytes:
    """The key of minted tokens; made if there is none. Tokens live for minutes, so a lost one costs nothing."""
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
