"""The public half of the key that our own tokens are signed with: who has it can verify one, and make none."""

import base64
import binascii
import hashlib
import time
from collections.abc import Callable, Mapping

from bascule.core.errors import ConfigError
from bascule.identity.jwt.claims import Expected
from bascule.identity.jwt.keys import Key, asymmetric_key
from bascule.identity.jwt.verifier import Verifier

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
