"""Signed forward token: names the principal for which one gateway forwards a request to another. It is valid once and
for 30 s; the client's own token is never forwarded."""

import base64
import binascii
import hmac
import secrets
from collections.abc import Callable
from itertools import islice

import msgspec

from bascule.core.errors import UsageError
from bascule.core.principal import Principal

LIFE = 30.0
"""Seconds for which a pass is good. It is used at once; more than that are the clocks of two machines apart."""

MOST_USED = 100_000
"""Passes that are remembered as used. Beyond this none is taken until some have run out: each is good only once."""

_SIGNED = b"bascule pass\n"
"""Part of what is signed: nothing else that is signed with this key is ever taken for a pass."""


class _Said(msgspec.Struct, frozen=True, array_like=True, gc=False):
    user_id: str
    session_id: str
    to: str
    until: float
    once: str


class Passes:
    """Written and read by all who share a secret. Each is for one principal, one reader, and one use."""

    def __init__(self, secret: bytes, clock: Callable[[], float], label: bytes = _SIGNED) -> None:
        self._secret = secret
        self._label = label
        self._clock = clock
        self._used: dict[str, float] = {}

    def write(self, principal: Principal, to: str) -> str:
        said = _Said(principal.user_id, principal.session_id, to, self._clock() + LIFE, secrets.token_urlsafe(12))
        body = msgspec.json.encode(said)
        return base64.urlsafe_b64encode(self._mac(body) + body).decode()

    def addressee(self, shown: str) -> str:
        """For whom a pass is, if it is one. It is not used by that."""
        said = self._read(shown)
        return said.to if said is not None else ""

    def take(self, shown: str, reader: str) -> Principal | None:
        """On whose behalf it asks who shows this. None for what cannot be believed, is for another reader, has run out,
        or was shown before."""
        said = self._read(shown)
        if said is None or said.to != reader or not self._first_use(said):
            return None
        try:
            return Principal(said.user_id, said.session_id)
        except UsageError:
            return None

    def _read(self, shown: str) -> _Said | None:
        try:
            raw = base64.b64decode(shown, altchars=b"-_", validate=True)
            if not hmac.compare_digest(raw[:32], self._mac(raw[32:])):
                return None
            return msgspec.json.decode(raw[32:], type=_Said)
        except (binascii.Error, ValueError, msgspec.MsgspecError):
            return None

    def _first_use(self, said: _Said) -> bool:
        now = self._clock()
        if not now < said.until <= now + 2 * LIFE or said.once in self._used:
            return False
        # In the order in which they were shown, which is nearly that in which they run out.
        for once in [once for once, until in islice(self._used.items(), 2) if until <= now]:
            del self._used[once]
        if len(self._used) >= MOST_USED:
            return False
        self._used[said.once] = said.until
        return True

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, self._label + body, "sha256")
