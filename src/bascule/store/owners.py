"""Ownership of agent sessions among gateways that share one store: interface for membership, claims and release.

A member is one serving process. It is alive while it renews its membership every 3 s at the latest, and its id is never
used again. So another member may take over the sessions of an expired one, which cannot come back and use them."""

import hmac
from collections.abc import Collection
from typing import Protocol

import msgspec

from bascule.core.principal import Principal

LIFE = 3.0
"""Seconds for which a member counts as alive after it has last said so."""

KEPT = 60.0
"""Seconds for which a member that died stays known to the store."""

_LABEL = b"bascule: between gateways"


class Member(msgspec.Struct, frozen=True):
    """One process that serves, as others know it."""

    id: str
    address: str
    """Where others reach it: `unix:` and a path, or a URL."""
    leaving: bool = False
    """Whether it gives away what it has, and is given nothing."""


class OwnerStore(Protocol):
    """Members and what they own. Raises `StoreError` where something could not be read or written; never guesses."""

    async def secret(self) -> bytes:
        """What all who use this store have in common, and nobody else: they know each other by it."""
        ...

    async def join(self, member: Member) -> None:
        """Count as alive from here on. An id is used once."""
        ...

    async def renew(self, member: Member) -> tuple[Member, ...] | None:
        """Stay alive. Everyone who is, this one among them; None if its time was over: it owns nothing any more."""
        ...

    async def claim(self, principal: Principal, member: str, gone: str = "") -> str:
        """Own this agent session, unless another one that is alive does. Whoever owns it then; nobody, if the time of
        this member itself is over. `gone` is one whose process is known to have ended."""
        ...

    async def release(self, member: str, principals: Collection[Principal]) -> None:
        """Own these no longer."""
        ...

    async def leave(self, member: str) -> None:
        """Be no longer alive, and own nothing."""
        ...


def secret_of(key: bytes) -> bytes:
    """Derived from the key of levels, which every machine on one store has already."""
    return hmac.digest(key, _LABEL, "sha256")
