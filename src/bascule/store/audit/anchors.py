"""Anchors of the audit log: the sealed end of each chain, stored in the database, apart from the log.

The owner of a log file can cut off its end, and the rest still verifies. An anchor reveals that."""

import hmac
from collections.abc import Mapping
from typing import Protocol

import msgspec

_MAC = 64
"""Characters of a MAC: SHA-256, in hexadecimal."""

_SIGNED = b"bascule audit anchor\n"
"""Part of what is signed: nothing else that is signed with this key is ever taken for an anchor."""


class Anchor(msgspec.Struct, frozen=True, array_like=True):
    """The last record of one chain in one moment. All records up to it were on disk when it was made."""

    writer: str
    sequence: int
    """0 for a chain that has no record yet."""
    mac: str
    """Of that record, in hexadecimal."""
    at: float
    """Seconds since the epoch."""


class AnchorStore(Protocol):
    """The newest anchor of each chain, sealed. Raises `StoreError` where something could not be read or written."""

    async def keep(self, anchor: Anchor, sealed: bytes) -> bool:
        """Keep this one in place of an older one of the same chain, durably. Never in place of a newer one; whether it
        is kept now."""
        ...

    async def sealed(self) -> Mapping[str, object]:
        """What is kept, by chain, just as it was found."""
        ...


def seal_anchor(anchor: Anchor, key: bytes) -> bytes:
    """A MAC, a space, and the anchor. Who can write the database, and has no key, can make none."""
    body = msgspec.json.encode(anchor)
    return _mac(body, key) + b" " + body


def read_anchor(sealed: object, key: bytes) -> Anchor | None:
    """None for what cannot be believed. A damaged database gives back any type."""
    if not isinstance(sealed, bytes) or sealed[_MAC : _MAC + 1] != b" ":
        return None
    body = sealed[_MAC + 1 :]
    if not hmac.compare_digest(sealed[:_MAC], _mac(body, key)):
        return None
    try:
        return msgspec.json.decode(body, type=Anchor)
    except msgspec.DecodeError:
        return None


def _mac(body: bytes, key: bytes) -> bytes:
    return hmac.digest(key, _SIGNED + body, "sha256").hex().encode()
