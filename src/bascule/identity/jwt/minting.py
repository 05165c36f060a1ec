"""Minted tokens: the runtime signs a JWT that names the principal, valid for at most 300 s and for one kit server.
`MintMark` is the public half of the key: it verifies such tokens and cannot make any."""

import base64
import binascii
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bascule.core.errors import ConfigError
from bascule.core.principal import Principal
from bascule.identity.jwt.claims import Expected
from bascule.identity.jwt.keys import Key, asymmetric_key
from bascule.identity.jwt.verifier import Verifier
from bascule.store.secrets.key_files import FOLDER, KeyFiles
from bascule.store.secrets.keys import minting_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_VARIABLE = "BASCULE_TOKEN_KEY"
"""Where a server finds the mark that has no part in the state folder of who asks it: in a box, or somewhere else."""

ISSUER = "bascule"

LIFE = 300.0
"""Seconds that a token of ours lives. Whoever gets hold of one has no more time than this."""

KIND = "bascule+jwt"
"""The type of our tokens. No identity provider issues it, and ours are believed nowhere as anything else."""

ALGORITHM = "EdDSA"

_LENGTH = 32


class MintMark:
    """Believes what one mint has made."""

    def __init__(self, public: bytes, clock: Callable[[], float] = time.time) -> None:
        self._public = public
        self._clock = clock
        # Not the key, but which one it is: after a change of keys, a log can tell the two apart.
        self.kid = hashlib.sha256(b"bascule minting key " + public).hexdigest()[:16]

    @classmethod
    def read(cls, text: str, clock: Callable[[], float] = time.time) -> "MintMark":
        """From how it is written down. Raises `ConfigError`."""
        public = _bytes(text.strip())
        if len(public) != _LENGTH:
            raise ConfigError(
                f"{KEY_VARIABLE} is no key that tokens can be verified with",
                fix="set it to what `bascule token --key` prints where the runtime has its state folder",
            )
        return cls(public, clock)

    @classmethod
    def named(cls, environ: Mapping[str, str]) -> "MintMark | None":
        """The one that the environment names, if it names one. Raises `ConfigError`."""
        text = environ.get(KEY_VARIABLE)
        return cls.read(text) if text is not None else None

    def __str__(self) -> str:
        """As it is written down."""
        return base64.urlsafe_b64encode(self._public).rstrip(b"=").decode()

    def verifier(self, audience: str) -> Verifier:
        """Believes what the mint has made for this audience."""
        expected = Expected(issuer=ISSUER, audience=audience, ours=True, longest_life=LIFE)
        return Verifier((self._key(),), expected, kinds=frozenset({KIND}), clock=self._clock)

    def _key(self) -> Key:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 -- slow to import

        return asymmetric_key(ALGORITHM, Ed25519PublicKey.from_public_bytes(self._public), self.kid)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""


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
