"""Ids of sessions of the old era that every gateway on one store knows to be ours, also one that never saw them."""

import base64
import binascii
import hmac
import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from bascule.core.json_types import JsonObject
from bascule.core.principal import Principal

LONGEST = 24 * 3600.0
"""Seconds for which a session that began elsewhere is gone on with. Where it began, it may last longer."""

MOST_SAID = 1024
"""Bytes of what a client said that it can be asked, which is a part of the name. Of more, nothing is."""

_RANDOM, _TIME, _MAC = 16, 6, 32
_SIGNED = b"bascule session of the old era\n"


class SessionSeal:
    """Names sessions. A name fits one principal, and nobody without the secret can make one."""

    def __init__(self, secret: bytes, clock: Callable[[], float]) -> None:
        self._secret = secret
        self._clock = clock

    def name(self, principal: Principal, capabilities: JsonObject) -> str:
        said = msgspec.json.encode(capabilities)
        born = secrets.token_bytes(_RANDOM) + int(self._clock()).to_bytes(_TIME)
        born += said if len(said) <= MOST_SAID else b"{}"
        return base64.urlsafe_b64encode(self._mac(born, principal) + born).decode()

    def read(self, name: str, principal: Principal) -> JsonObject | None:
        """What the client can be asked, if this is a session of the principal."""
        try:
            raw = base64.b64decode(name, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        mac, born = raw[:_MAC], raw[_MAC:]
        if len(born) < _RANDOM + _TIME or not hmac.compare_digest(mac, self._mac(born, principal)):
            return None
        if self._clock() - int.from_bytes(born[_RANDOM : _RANDOM + _TIME]) >= LONGEST:
            return None
        return msgspec.json.decode(born[_RANDOM + _TIME :], type=dict[str, Any])

    def _mac(self, born: bytes, principal: Principal) -> bytes:
        whose = msgspec.json.encode((principal.user_id, principal.session_id))
        return hmac.digest(self._secret, _SIGNED + whose + b"\n" + born, "sha256")
