"""Cause of a 401 or 403 response: no token was sent, a wrong one, or an expired one."""

import base64
import time
from math import isfinite

import msgspec

from bascule.core.errors import LoginNeeded
from bascule.core.json_types import is_object
from bascule.identity.oauth.challenge import says_expired
from bascule.transports.http.response import Response
from bascule.wire.jsonrpc import sample

LONGEST = 16 * 1024
"""Characters of a token that is looked into. No server takes a longer one."""

FAR = 253402300799.0
"""The last second that has a date."""


def demanded(response: Response) -> str:
    """What a server that does not let us in says it wants, as evidence."""
    challenge = response.headers.get("WWW-Authenticate")
    return f"HTTP {response.status}" + (f", WWW-Authenticate: {sample(challenge.encode())}" if challenge else "")


def turned_away(response: Response, authorization: str) -> LoginNeeded:
    """What a 401 or 403 means, for a request that was sent with this `Authorization`."""
    response.close()
    message, cause, fix = _reason(response, authorization)
    return LoginNeeded(message, evidence=demanded(response), cause=cause, fix=fix)


def _reason(response: Response, authorization: str) -> tuple[str, str, str]:
    given = "headers.Authorization of this server"
    if response.status == 403:
        told = "who we are may not use it" if authorization else "no token was sent"
        return "the server does not let us in (HTTP 403)", told, f"put a token that may use it into {given}"
    if not authorization:
        return "the server wants a token (HTTP 401)", "none was sent", f"put a token into {given}"
    ended = good_until(authorization)
    over = ended is not None and ended < time.time()
    if over or says_expired(response.headers.get("WWW-Authenticate", "")):
        cause = f"it was good until {_date(ended)}" if ended is not None and over else "the server says so"
        return "the token that was sent has expired (HTTP 401)", cause, f"get a new token, and put it into {given}"
    cause = "it is mistyped, of another server, or was revoked"
    return "the server refuses the token that was sent (HTTP 401)", cause, f"put the right token into {given}"


def good_until(authorization: str) -> float | None:
    """When a token ends, in seconds, as far as it says so itself. Nothing else of it is read, and nothing believed."""
    token = authorization.rpartition(" ")[2]
    parts = token.split(".")
    if len(parts) != 3 or len(token) > LONGEST:
        return None
    try:
        body = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None
    ends = body.get("exp") if is_object(body) else None
    if isinstance(ends, bool) or not isinstance(ends, int | float) or not isfinite(ends) or not 0 < ends < FAR:
        return None
    return float(ends)


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
