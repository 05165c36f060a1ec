"""Tokens of our own: the runtime tells servers of our kit on whose behalf it asks, for minutes, and for one server."""

import base64
import secrets
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bascule.core.principal import Principal
from bascule.identity.jwt.minting__mint_mark import ALGORITHM, ISSUER, KIND, LIFE, MintMark
from bascule.identity.jwt.verifier import Verifier
from bascule.store.secrets.key_files import FOLDER, KeyFiles
from bascule.store.secrets.keys import minting_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class Mint:
    """Signs tokens with the key of one state folder. Whoever only verifies them has no need of that key."""

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._secret = key
        self._clock = clock

    @classmethod
    def of(cls, state_folder: Path, clock: Callable[[], float] = time.time) -> "Mint":
        """The mint of this state folder; its key is made if there is none."""
        return cls(minting_key(KeyFiles(state_folder / FOLDER)), clock)

    @cached_property
    def mark(self) -> MintMark:
        """What servers are given that have to believe the tokens, and must not make any."""
        return MintMark(self._private.public_key().public_bytes_raw(), self._clock)

    def token(self, principal: Principal, audience: str, life: float = LIFE) -> str:
        """A token for this principal, believed by this audience alone."""
        now = int(self._clock())
        claims = {
            "iss": ISSUER,
            "aud": audience,
            "sub": principal.user_id,
            "session_id": principal.session_id,
            "iat": now,
            "nbf": now,
            "exp": now + int(min(life, LIFE)),
            "jti": secrets.token_urlsafe(16),
        }
        header = {"alg": ALGORITHM, "typ": KIND, "kid": self.mark.kid}
        signed = b".".join(_part(msgspec.json.encode(each)) for each in (header, claims))
        return b".".join((signed, _part(self._private.sign(signed)))).decode()

    def verifier(self, audience: str) -> Verifier:
        """Believes what this mint has made for this audience."""
        return self.mark.verifier(audience)

    @cached_property
    def _private(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 -- slow to import

        return Ed25519PrivateKey.from_private_bytes(self._secret)


def _part(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
