"""HTTP endpoint of one link: its aiohttp session, the headers of its era, credentials, and redirects within one
server."""

import asyncio
import re
from collections.abc import Awaitable, Hashable, Mapping
from contextlib import suppress
from functools import partial
from math import inf

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from bascule.core.errors import ConnectFailed, LoginNeeded, PeerError, ProtocolViolation
from bascule.core.request import Permit
from bascule.identity.oauth.challenge import read_challenge
from bascule.transports.auth_headers import SaysWho
from bascule.transports.dispatcher import is_new_era
from bascule.transports.http.address import (
    MAX_REDIRECTS,
    REDIRECTS,
    base_headers,
    message_url,
    parse_url,
    redirect_target,
    shown,
    socket_address,
    too_many_redirects,
)
from bascule.transports.http.body import PIECE, Body
from bascule.transports.http.connections import Host
from bascule.transports.http.direct_post import Direct
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response import DEMANDS, PeerResponse, Received, Response, peer_of
from bascule.transports.http.shared_connections import Hosts, Kin
from bascule.transports.http.sockets import Sockets
from bascule.transports.http.unauthorized import demanded
from bascule.wire.jsonrpc import sample

SESSION_HEADER = "Mcp-Session-Id"
VERSION_HEADER = "MCP-Protocol-Version"

UNSETTLED = REDIRECTS | DEMANDS
"""Answers after which the same message may have to be sent again: elsewhere, or as someone the server knows."""

MAX_RENEWALS = 2
"""Times that one message may be sent with another token: after a refresh, and after a login that the refresh showed to
be needed. A server that is never content must not make us log in for ever."""

SOCKET_HOST = "localhost:80"
"""Whom we ask for through a socket file. Servers that guard against foreign hosts let this one in; the SDK's do so only
with a port."""

_SESSION_ID = re.compile(r"[\x21-\x7e]{1,4096}")


class Endpoint:
    """One URL that MCP messages are posted to. It shares no cookies and no proxy with other links, and connections only
    with those of its kin that have the same headers, and only as long as no login says who we are.

    With a socket file, all of it goes through that file, redirects on the same host as well. A login says who we are.
    """

    __slots__ = (
        "_authorization",
        "_common",
        "_configured",
        "_connect_timeout",
        "_direct",
        "_kin",
        "_login",
        "_own",
        "_place",
        "_session",
        "_socket",
        "_stamp",
        "_text",
        "_url",
        "session_id",
        "shut_out",
        "sockets",
        "version",
    )

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        socket: str | None = None,
        login: SaysWho | None = None,
        kin: Kin | None = None,
    ) -> None:
        self.session_id: str | None = None
        self.version: str | None = None
        self._text = url
        self._configured = headers
        self._socket = socket
        self._url = URL()
        self._session: aiohttp.ClientSession | None = None
        self._direct: Direct | None = None
        self._kin = kin or Kin(Hosts(), None)
        self._place: Hashable = None
        self._common: Host | None = None
        """The host, for what is said without a login. It is our kin's, too."""
        self._own: Host | None = None
        """The same host, for what is said with a login: ours alone."""
        self._connect_timeout = inf
        self._stamp = CIMultiDict[str]()
        self._authorization: str | None = None
        self._login = login
        self.sockets = Sockets()
        self.shut_out = False
        """Whether the server has refused for good a token that we had."""

    @property
    def address(self) -> str:
        if self._socket is not None:
            return socket_address(self._socket, self._url)
        return shown(self._url)

    @property
    def old_era(self) -> bool:
        """Whether the old era was agreed on. Before any agreement, what is only the old era's is not done."""
        return self.version is not None and not is_new_era(self.version)

    @property
    def in_session(self) -> bool:
        return self.session_id is not None

    @property
    def authorization(self) -> str:
        """What says who we are, as far as that is known now."""
        return self._token() or self._authorization or ""

    def open(self, connect_timeout: float, leave: Permit | None = None) -> None:
        """Check what was configured and make the session. Nothing is sent, now or later, without `leave`."""
        if self._session is not None:
            return
        self.sockets.leave = leave
        self._connect_timeout = connect_timeout
        self._url = parse_url(self._text)
        headers = base_headers(self._configured)
        if self._socket is not None:
            headers.setdefault("Host", SOCKET_HOST)
        self._authorization = headers.get("Authorization")
        said = tuple(sorted((name.lower(), value) for name, value in headers.items()))
        self._place = (
            asyncio.get_running_loop(),
            self._kin.of,
            self._url.scheme,
            self._url.raw_authority,
            self._socket,
            said,
        )
        self._session = aiohttp.ClientSession(
            connector=self.sockets.connector(self._socket, limit=0),
            response_class=PeerResponse,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            # Each exchange has its own timer; this one is for the streams, which have none.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout),
            auto_decompress=False,
            trust_env=False,
        )

    def adopt(self, version: str) -> None:
        self.version = version
        self._restamp()

    def keep_session(self, session_id: str | None) -> None:
        """Remember the session that `initialize` opened, if it opened one."""
        if session_id is not None and not _SESSION_ID.fullmatch(session_id):
            raise ProtocolViolation(
                "the session id is not made of visible ASCII characters",
                where=self.address,
                evidence=sample(session_id.encode("utf-8", "surrogateescape")),
            )
        self.session_id = session_id
        self._restamp()

    def forget_session(self) -> None:
        self.session_id = None
        self._restamp()

    def post(self, data: bytes, exchange: Exchange, extra: Mapping[str, str]) -> Awaitable[Received]:
        """Send a message. The answer may be a redirect, which `follow` is for."""
        login = self._login
        token = login.header() if login is not None else ""
        if token is None:
            return self._prepared_post(data, exchange, extra)
        return self._posted(data, exchange, self._headers(extra, token), token)

    async def _prepared_post(self, data: bytes, exchange: Exchange, extra: Mapping[str, str]) -> Received:
        assert self._login is not None
        token = await self._login.prepare(self.sockets.leave)
        return await self._posted(data, exchange, self._headers(extra, token), token)

    def _posted(self, data: bytes, exchange: Exchange, headers: Mapping[str, str], token: str) -> Awaitable[Received]:
        session, direct = self._open_session(), self._direct
        if len(data) > PIECE:
            return session.post(self._url, data=Body(data, exchange), headers=headers, allow_redirects=False)
        named = bool(token) or (self._login is not None and bool(self._login.others))
        host = self._own if named else self._common
        if host is None or direct is None or direct.host is not host or direct.url is not self._url:
            direct = self._direct = self._aimed(session, named=named)
        return direct.post(data, exchange, headers)

    def _aimed(self, session: aiohttp.ClientSession, *, named: bool) -> Direct:
        if named:
            host = self._own = self._own or Host(self._socket)
        else:
            host = self._common = self._common or self._kin.hosts.join(self._place, partial(Host, self._socket))
        self.sockets.lent = [one.sockets for one in (self._own, self._common) if one is not None]
        return Direct(session, self._url, self._connect_timeout, host, self.sockets)

    async def follow(self, response: Response, body: Body, extra: Mapping[str, str]) -> Response:
        """Send the same message again if the answer asks for it: to where a redirect points, as long as that is the
        same server, or with another token, as long as there is one. Raises `LoginNeeded` where there is none."""
        url = self._url
        redirects = renewals = 0
        while response.status in UNSETTLED:
            if response.status in DEMANDS:
                if not await self._renewed(response, renewals):
                    break
                renewals += 1
                body.not_taken()
            else:
                if redirects == MAX_REDIRECTS:
                    response.release()
                    raise too_many_redirects(url, MAX_REDIRECTS)
                redirects += 1
                body.let_go()
                url = self._redirected(url, response)
            response.release()
            headers = self._headers(extra, self._token())
            response = await self._open_session().post(url, data=body, headers=headers, allow_redirects=False)
        return response

    def _redirected(self, url: URL, response: Response) -> URL:
        response.release()
        target = redirect_target(url, response.status, response.headers.get("Location"))
        if response.status == 308:
            # Moved for good: the next request goes there at once.
            self._url = target
        return target

    async def _renewed(self, response: Response, before: int = 0) -> bool:
        """Whether the same message may be let in now. A refusal that no login could change is left to be told."""
        challenge = read_challenge(", ".join(response.headers.getall("WWW-Authenticate", ())), peer_of(response))
        if self._login is None or (response.status == 403 and not challenge.lacks_scope):
            return False
        used = _sent_as(response)
        response.close()
        try:
            if before == MAX_RENEWALS:
                raise self._login.needed(used, challenge)
            await self._login.renew(used, challenge, again=before > 0, leave=self.sockets.leave)
        except LoginNeeded as error:
            error.evidence = error.evidence or demanded(response)
            self.shut_out = response.status == 401 and bool(used)
            raise
        return True

    async def get(self, last_id: str | None) -> aiohttp.ClientResponse:
        """Open the old era's stream, from its start or after the event that came last."""
        headers = CIMultiDict(self._stamp)
        headers["Accept"] = "text/event-stream"
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        # A login that cannot be renewed now fails no stream by itself: the server's answer tells what to make of it.
        with suppress(PeerError):
            if self._login is not None:
                self._introduce(headers, await self._login.prepare(self.sockets.leave))
        response = await self._open_session().get(self._url, headers=headers, allow_redirects=False)
        return await self._get_again(response, headers) if response.status == 401 else response

    async def _get_again(self, response: aiohttp.ClientResponse, headers: CIMultiDict[str]) -> aiohttp.ClientResponse:
        """The same stream with another token, if there is one. A stream that is refused fails no request by itself."""
        try:
            if self._login is None or not await self._renewed(response):
                return response
            self._introduce(headers, await self._login.prepare(self.sockets.leave))
        except PeerError:
            return response
        return await self._open_session().get(self._url, headers=headers, allow_redirects=False)

    async def stream(self) -> aiohttp.ClientResponse:
        """Open the stream of HTTP+SSE, which may have moved within the same server."""
        for _ in range(MAX_REDIRECTS + 1):
            response = await self.get(None)
            if response.status not in REDIRECTS:
                return response
            response.release()
            self._url = redirect_target(self._url, response.status, response.headers.get("Location"), asking=True)
        raise too_many_redirects(self._url, MAX_REDIRECTS)

    def aim(self, told: bytes) -> None:
        """Post from now on to where the server told us to, as long as that is the same server."""
        self._url = message_url(self._url, told)

    async def delete(self) -> None:
        """End the old era's session at the server."""
        headers = self._headers({}, self._token())
        response = await self._open_session().delete(self._url, headers=headers, allow_redirects=False)
        response.close()

    async def close(self) -> None:
        if not self.sockets.may_write():
            self.sockets.abort()
        common = self._kin.hosts.leave(self._place) if self._common is not None else None
        closing = self._session, self._own, common
        self._session = self._own = self._common = None
        self.sockets.close()
        # All of them before any is waited for: that may be cut short.
        await asyncio.gather(*(one.close() for one in closing if one is not None))

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise ConnectFailed("the connection is not open", where=self._text.partition("?")[0])
        return self._session

    def _introduce(self, headers: CIMultiDict[str], token: str) -> None:
        if self._login is not None:
            headers.update(self._login.others)
        if token:
            headers["Authorization"] = token

    def _token(self) -> str:
        """What the login sends as `Authorization`, as far as that is known now."""
        return (self._login.header() or "") if self._login is not None else ""

    def _headers(self, extra: Mapping[str, str], token: str) -> Mapping[str, str]:
        if self._authorization is not None or self._login is not None:
            # What the operator configured, or the user's login, says who we are; nothing above may change that.
            for name in extra:
                if len(name) == 13 and name.lower() == "authorization":
                    return self._headers({n: v for n, v in extra.items() if n.lower() != "authorization"}, token)
        others = self._login.others if self._login is not None else None
        if not self._stamp and not token and not others:
            return extra
        headers = CIMultiDict(extra)
        if others:
            headers.update(others)
        headers.update(self._stamp)
        if token:
            headers["Authorization"] = token
        return headers

    def _restamp(self) -> None:
        self._stamp = CIMultiDict[str]()
        if self.session_id is not None:
            self._stamp[SESSION_HEADER] = self.session_id
        if self.version is not None and self.old_era:
            self._stamp[VERSION_HEADER] = self.version


def _sent_as(response: Response) -> str:
    """The `Authorization` with which its request was sent."""
    headers = response.request_info.headers if isinstance(response, aiohttp.ClientResponse) else response.sent
    return headers.get("Authorization", "")
