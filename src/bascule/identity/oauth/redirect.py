"""OAuth redirect: the URL at which the browser returns from a login, parsed and checked."""

import hmac
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

import msgspec

from bascule.core.errors import LoginFailed

OnLogin = Callable[[str], Awaitable[str | None]]
"""Takes the URL at which a person logs in, and gives the URL to which the browser came back. None: nobody did."""


class Granted(msgspec.Struct, frozen=True):
    """A login that was granted. The code buys the tokens, once."""

    code: str
    state: str
    issuer: str | None = None

    def __repr__(self) -> str:
        return "Granted()"


def read_redirect(url: str, state: str, issuer: str | None) -> Granted:
    """What the browser brought back. Raises `LoginFailed` unless it is the end of the login that `state` began, at the
    login server called `issuer`."""
    given = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items() if len(values) == 1}
    if not hmac.compare_digest(given.get("state", "").encode(), state.encode()):
        raise LoginFailed(
            "the browser came back with another login than the one that was begun",
            where="redirect",
            evidence="the parameter `state` is missing" if "state" not in given else "the parameter `state` differs",
            cause="an old page was used, or somebody tries to log us in as someone else",
            fix="begin again, and use only the page that opens then",
        )
    named = given.get("iss")
    if named is not None and named != issuer:
        raise _wrong_issuer(named, issuer)
    if "error" in given:
        raise _denied(given["error"], given.get("error_description", ""))
    if "code" not in given:
        raise LoginFailed("the browser came back without a code", where="redirect", fix="begin again")
    return Granted(given["code"], state, named)


def _wrong_issuer(named: str, issuer: str | None) -> LoginFailed:
    return LoginFailed(
        "the answer comes from another login server than the one that was asked",
        where="redirect",
        evidence=f"iss is {named[:200]!r}, not {issuer!r}",
        cause="one login server passes off another's answer as its own",
        fix="do not go on; ask whoever runs the server",
    )


def _denied(error: str, description: str) -> LoginFailed:
    told = ": ".join(text[:200] for text in (error, description) if text)
    if error == "access_denied":
        return LoginFailed(
            "the login was denied",
            where="redirect",
            evidence=told,
            cause="you, or the login server, said no",
            fix="run `bascule login` again and agree, as a user whom the login server lets in",
        )
    return LoginFailed(
        "the login server refused", where="redirect", evidence=told, fix="ask whoever runs the login server"
    )
