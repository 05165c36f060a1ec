"""Ids of sessions of the old era that every gateway on one store knows to be ours, also one that never saw them."""

import base64
import binascii
import hmac
import secrets
from collections.abc import Callable

import msgspec

from bascule.core.principal import Principal

LONGEST = 24 * 3600.0
"""Seconds for which a session that began elsewhere is gone on with. Where it began, it may last longer."""

_RANDOM, _TIME, _MAC = 16, 6, 32
_SIGNED = b"bascule session of the old era\n"


class SessionSeal:
    """Names sessions. A name fits one principal, and nobody without the secret can make one."""

    def __init__(self, secret: bytes, clock: Callable[[], float]) -> None:
        self._secret = secret
        self._clock = clock

    def name(self, principal: Principal) -> str:
        born = secrets.token_bytes(_RANDOM) + int(self._clock()).to_bytes(_TIME)
        return base64.urlsafe_b64encode(born + self._mac(born, principal)).decode()

    def fits(self, name: str, principal: Principal) -> bool:
        try:
            raw = base64.b64decode(name, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return False
        born, mac = raw[:-_MAC], raw[-_MAC:]
        if len(born) != _RANDOM + _TIME or not hmac.compare_digest(mac, self._mac(born, principal)):
            return False
        return self._clock() - int.from_bytes(born[_RANDOM:]) < LONGEST

    def _mac(self, born: bytes, principal: Principal) -> bytes:
        whose = msgspec.json.encode((principal.user_id, principal.session_id))
        return hmac.digest(self._secret, _SIGNED + born + whose, "sha256")
