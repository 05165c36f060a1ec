"""Login to the dashboard: token, cookie, CSRF and origin checks, and the security headers (CSP) of every response.
Every request reaches the pages through this middleware and nowhere else."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from bascule.dashboard.auth.attempts import Tries
from bascule.dashboard.auth.cookies import LIFE, Badges
from bascule.gateway.limits import address_of
from bascule.identity.host_origin_check import HouseRules, Knock

Send = Callable[[Any], Awaitable[None]]

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Neither scripts nor styles stand in the page itself, so that nothing a server says can become one."""

HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    # Others are told nothing. With `no-referrer` a browser would not name the origin of our own forms either.
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"cache-control": b"no-store",
}


def secured(send: Send) -> Send:
    """Sends each answer with these headers. What the answer says itself of how long it is kept stands."""

    async def tell(event: dict[str, Any]) -> None:
        if event["type"] == "http.response.start":
            given: Sequence[tuple[bytes, bytes]] = event.get("headers", ())
            event = {**event, "headers": [*given, *_missing(dict(given)).items()]}
        await send(event)

    return tell


def _missing(given: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    return {name: value for name, value in HEADERS.items() if name != b"cache-control" or name not in given}


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Turned = Callable[[str, int], Response]
"""Makes the page for who is not let in, of the reason and the status."""

ROOT = "/dashboard"
STATIC = f"{ROOT}/static/"
ENTER = f"{ROOT}/enter"

LARGEST_FORM = 64 * 1024
"""Bytes of a form. The longest approves some hundred tools, each by its name and digest."""

READS = {"GET", "HEAD"}
FORM = "application/x-www-form-urlencoded"
OTHERS = {"cross-site", "same-site"}
"""What browsers say of requests that another site's page makes. Another port of this machine is `same-site`."""

WRONG = "This token does not open it."
NONE = "It opens with its token."
LATER = "Too many tokens were wrong. Wait a minute, then try again."


class Refused(Exception):
    """A request that no page of ours makes."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class Entrance:
    """Login middleware of one dashboard. A request that it passes on has `badge` and, for a POST, `form` in its
    state."""

    def __init__(self, app: App, badges: Badges, rules: HouseRules, tries: Tries, turned: Turned) -> None:
        self._app = app
        self._badges = badges
        self._rules = rules
        self._tries = tries
        self._turned = turned
        self.secure = False
        """Whether browsers reach it by https, and so may keep the cookie from plain http."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        send = secured(send)
        try:
            self._check_knock(scope)
            answer = await self._answer(scope, receive)
        except Refused as refused:
            answer = PlainTextResponse(refused.words, refused.status)
        if answer is None:
            await self._app(scope, receive, send)
        else:
            await answer(scope, receive, send)

    def _check_knock(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        scheme = scope.get("scheme", "http")
        away = self._rules.turn_away(Knock(hosts, origins, scheme, scope.get("client"), scope.get("server")))
        if away is not None:
            raise Refused(away.status, away.words)
        site, mode = headers.get("sec-fetch-site", ""), headers.get("sec-fetch-mode", "")
        # A link on another page may lead here; that page may not load what is here, nor send a form.
        if site in OTHERS and not (mode == "navigate" and scope["method"] in READS):
            raise Refused(403, "a web page of another origin may not ask here")
        if scope["method"] not in READS and not origins and site != "same-origin":
            raise Refused(403, "whoever changes something has to say by which page: there is no Origin")

    async def _answer(self, scope: Scope, receive: Receive) -> Response | None:
        """What answers it before any page does. None: a page does."""
        reads, path = scope["method"] in READS, scope["path"]
        if reads and path.startswith(STATIC):
            return None
        if not reads and scope["method"] != "POST":
            raise Refused(405, "only GET and POST are of use here")
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        shown = [value for name, value in query if name == "token"]
        if reads and shown:
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            # `//elsewhere` is a path too, and leads elsewhere.
            onward = path if path.startswith(f"{ROOT}/") else ROOT
            return self._enter(scope, shown[-1], f"{onward}?{rest}" if rest else onward)
        form = {} if reads else await _form(scope, receive)
        if not reads and path == ENTER:
            return self._enter(scope, form.get("token", [""])[-1], ROOT)
        return self._known(scope, form)

    def _known(self, scope: Scope, form: dict[str, list[str]]) -> Response | None:
        badge = _cookies(scope).get(self._badges.cookie, "")
        if not self._badges.is_badge(badge):
            return self._turned(NONE, 401)
        if scope["method"] == "POST" and not self._badges.is_mark(badge, form.get("mark", [""])[-1]):
            raise Refused(403, "this form was not made for you; load its page again")
        scope.setdefault("state", {}).update(badge=badge, mark=self._badges.mark(badge), form=form)
        return None

    def _enter(self, scope: Scope, token: str, onward: str) -> Response:
        address = address_of(scope.get("client"))
        if wait := self._tries.wait(address):
            answer = self._turned(LATER, 429)
            answer.headers["retry-after"] = str(wait)
            return answer
        if not self._badges.is_token(token):
            self._tries.wrong(address)
            return self._turned(WRONG, 401)
        # Without the token: an address is kept in histories, and shown to whoever looks over a shoulder.
        answer = RedirectResponse(onward, 303)
        options: dict[str, Any] = {"max_age": LIFE, "path": ROOT, "secure": self.secure}
        answer.set_cookie(self._badges.cookie, self._badges.issue(), httponly=True, samesite="strict", **options)
        return answer


def _cookies(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for header in Headers(scope=scope).getlist("cookie"):
        for part in header.split(";"):
            try:
                found |= {name: morsel.value for name, morsel in SimpleCookie(part.strip()).items()}
            except CookieError:
                continue  # another program's, on this machine's name
    return found


async def _form(scope: Scope, receive: Receive) -> dict[str, list[str]]:
    if Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Refused(415, "a form is wanted")
    body = b""
    while True:
        event = await receive()
        if event["type"] != "http.request":
            raise Refused(400, "the form did not come whole")
        body += event.get("body", b"")
        if len(body) > LARGEST_FORM:
            raise Refused(413, "this form is too large")
        if not event.get("more_body", False):
            break
    form: dict[str, list[str]] = {}
    for name, value in parse_qsl(body.decode("latin-1"), keep_blank_values=True):
        form.setdefault(name, []).append(value)
    return form
