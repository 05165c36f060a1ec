"""Tokens of our own: the runtime tells servers of our kit on whose behalf it asks, for minutes, and for one server."""

import base64
import hashlib
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bascule.core.principal import Principal
from bascule.identity.claims import Expected
from bascule.identity.keys import Key, secret_key
from bascule.identity.verifier import Verifier
from bascule.store.key_files import FOLDER, KeyFiles
from bascule.store.minting_key import minting_key

ISSUER = "bascule"

LIFE = 300.0
"""Seconds that a token of ours lives. Whoever gets hold of one has no more time than this."""

KIND = "bascule+jwt"
"""The type of our tokens. No identity provider issues it, and ours are believed nowhere as anything else."""

_ALGORITHM = "HS256"


class Mint:
    """Signs tokens with the key of one state folder, and verifies them with the same."""

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._secret = key
        self._clock = clock
        # Not the key, but which one it is: after a change of keys, a log can tell the two apart.
        self._kid = hashlib.sha256(b"bascule minting key " + key).hexdigest()[:16]

    @classmethod
    def of(cls, state_folder: Path, clock: Callable[[], float] = time.time) -> "Mint":
        """The mint of this state folder; its key is made if there is none."""
        return cls(minting_key(KeyFiles(state_folder / FOLDER)), clock)

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
        header = {"alg": _ALGORITHM, "typ": KIND, "kid": self._kid}
        signed = b".".join(_part(msgspec.json.encode(each)) for each in (header, claims))
        return b".".join((signed, _part(self._key().signs(signed)))).decode()

    def verifier(self, audience: str) -> Verifier:
        """Believes what this mint has made for this audience."""
        expected = Expected(issuer=ISSUER, audience=audience, ours=True, longest_life=LIFE)
        return Verifier((self._key(),), expected, kinds=frozenset({KIND}), clock=self._clock)

    def _key(self) -> Key:
        return secret_key(_ALGORITHM, self._secret, self._kid)


def _part(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
