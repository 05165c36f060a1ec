"""URL-safe ids of agent sessions for the paths of pages: encoding and decoding."""

import base64
import binascii

import msgspec

from bascule.core.errors import UsageError
from bascule.core.principal import Principal

LONGEST = 3000
"""Characters. Both ids at their longest, of four bytes a letter, stay below."""


def session_id(principal: Principal) -> str:
    told = msgspec.json.encode([principal.user_id, principal.session_id])
    return base64.urlsafe_b64encode(told).decode().rstrip("=")


def principal_of(id_: str) -> Principal | None:
    """None for what is no such id."""
    if len(id_) > LONGEST:
        return None
    try:
        told = base64.b64decode(id_ + "=" * (-len(id_) % 4), altchars=b"-_", validate=True)
        return Principal(*msgspec.json.decode(told, type=tuple[str, str]))
    except (ValueError, binascii.Error, msgspec.MsgspecError, UsageError):
        return None
