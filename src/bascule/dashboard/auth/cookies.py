"""Signed login cookie of the dashboard, and the CSRF tokens of its forms."""

import hashlib
import hmac
import secrets
from collections.abc import Callable

from bascule.config.secret import Secret

LIFE = 7 * 24 * 3600
"""Seconds for which a badge is good: a tab that is kept open over a week-end goes on."""

AHEAD = 60
"""Seconds by which a badge may come from the future: clocks are set back."""

BADGE, MARK, NAME = b"bascule dashboard badge", b"bascule dashboard form", b"bascule dashboard name"
"""What each key is for. All are made of the token, so that they last as long as it does: over a restart, and for every
worker. A new token ends them all."""


class Badges:
    """The badges of one token."""

    def __init__(self, token: Secret, clock: Callable[[], float]) -> None:
        self._token = token.reveal().encode("utf-8", "surrogatepass")
        self._clock = clock
        # Cookies know hosts and no ports: two gateways on one machine must not overwrite each other's.
        self.cookie = f"bascule_{self._digest(NAME, b'')[:12]}"

    def is_token(self, shown: str) -> bool:
        # Of digests, so that the time it takes says nothing of the length either.
        given = hashlib.sha256(shown.encode("utf-8", "surrogatepass")).digest()
        return hmac.compare_digest(given, hashlib.sha256(self._token).digest())

    def issue(self) -> str:
        head = f"{int(self._clock())}.{secrets.token_urlsafe(12)}"
        return f"{head}.{self._digest(BADGE, head.encode())}"

    def is_badge(self, shown: str) -> bool:
        head, _, given = shown.rpartition(".")
        if not hmac.compare_digest(given.encode(), self._digest(BADGE, head.encode()).encode()):
            return False
        age = self._clock() - int(head.partition(".")[0])
        return -AHEAD <= age < LIFE

    def mark(self, badge: str) -> str:
        """What stands in every form that was made for this badge."""
        return self._digest(MARK, badge.encode())

    def is_mark(self, badge: str, shown: str) -> bool:
        return hmac.compare_digest(shown.encode("utf-8", "surrogatepass"), self.mark(badge).encode())

    def _digest(self, purpose: bytes, content: bytes) -> str:
        key = hmac.digest(self._token, purpose, hashlib.sha256)
        return hmac.new(key, content, hashlib.sha256).hexdigest()
