"""OAuth credentials of one user at one server: the `Authorization` header, its refresh and the login; and the registry
of all logins of a runtime. Most requests need only memory; disk, locks and SDK are for a token that was rejected or has
expired."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from math import inf
from typing import Any
from urllib.parse import urlsplit

import msgspec

from bascule.config import ServerConfig, SseTransport, StreamableHttpTransport
from bascule.config.model.oauth import OAuthSettings
from bascule.config.secret import reveal_all
from bascule.core.errors import ConnectFailed, LoginNeeded, PeerError, StoreError, UsageError
from bascule.core.request import Permit
from bascule.core.text.redaction import Mask
from bascule.identity.oauth.challenge import Challenge
from bascule.identity.oauth.login import Login, Tokens
from bascule.identity.oauth.redirect import OnLogin
from bascule.identity.oauth.token_endpoint import read_tokens, refresh_form, refusal_in, revocation_form
from bascule.store.secrets.vault import Vault
from bascule.wire.request_meta import NEW_VERSIONS

REDIRECT_URI = "http://127.0.0.1/callback"
"""Where a browser is sent back to if nobody has said where they can receive it."""

REFUSALS = frozenset({400, 401, 403})
"""Answers of a token endpoint that mean no. Others mean that it could not think about it."""


@dataclass(frozen=True, slots=True)
class Target:
    """The server to log in at."""

    name: str
    url: str
    headers: Mapping[str, str]
    settings: OAuthSettings


class Credentials:
    """The login of one user at one server, shared by all their links to it."""

    __slots__ = (
        "__weakref__",
        "_asking",
        "_clock",
        "_closed",
        "_good_until",
        "_header",
        "_key",
        "_login",
        "_mask",
        "_on_login",
        "_target",
        "_tasks",
        "_turn",
        "_user_id",
        "_vault",
    )

    others: Mapping[str, str] = {}

    def __init__(
        self,
        target: Target,
        user_id: str,
        vault: Vault,
        mask: Mask,
        on_login: OnLogin | None,
        clock: Callable[[], float],
    ) -> None:
        self._target = target
        self._user_id = user_id
        self._vault = vault
        self._mask = mask
        self._on_login = on_login
        self._clock = clock
        self._key = f"oauth-{_hashed(user_id, target.url)}"
        self._login: Login | None = None
        self._header = ""
        self._good_until = -inf
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asking: asyncio.Task[Any] | None = None
        self._closed = False

    def header(self) -> str | None:
        """What to send as `Authorization`, from memory; empty for nothing. None: it has to be prepared first."""
        return self._header if self._clock() < self._good_until else None

    async def prepare(self, leave: Permit | None = None) -> str:
        """The header, after whatever has to be done for it: reading what is kept, renewing what is spent. Nothing is
        written to the login server without `leave`."""
        if self.header() is None:
            await self._finished(self._prepare(leave))
        return self._header

    async def renew(self, used: str, challenge: Challenge, *, again: bool, leave: Permit | None = None) -> None:
        """Get another header in the place of `used`, which was refused. Raises `LoginNeeded` where only a person can.

        `again` says that `used` had itself been renewed for the same request, so that a refresh would be no use.
        """
        await self._finished(self._renew(used, challenge, again=again, leave=leave))

    def needed(self, used: str, challenge: Challenge) -> LoginNeeded:
        """Why a person has to log in, and how."""
        name = self._target.name
        if challenge.lacks_scope:
            more = f" ({challenge.scope})" if challenge.scope else ""
            message, cause = f"the login does not cover this: the server wants more rights{more}", ""
        elif used or self._header:
            message, cause = "the login is no longer valid", "its tokens were revoked, or are spent for good"
        else:
            message, cause = "the server wants a login (HTTP 401)", "nobody has logged in there on this user's behalf"
        scopes = self._target.settings.scopes
        first = "add these to oauth.scopes, then " if challenge.lacks_scope and scopes else ""
        return LoginNeeded(message, where=name, cause=cause, fix=f"{first}run `bascule login {name}`")

    async def log_in(self, ask: OnLogin, redirect_uri: str) -> Login:
        """A new login by a person, whatever is kept."""
        async with self._turn:
            await self._load()
            return await self._log_in(await self._asked_for(), ask, redirect_uri)

    async def log_out(self) -> bool | None:
        """Forget the login. Whether the login server has forgotten it too; None if there was none."""
        async with self._turn:
            await self._load()
            login = self._login
            await self._vault.delete(self._key)
            self._adopt(None)
            return None if login is None or login.tokens is None else await _revoked(login, login.tokens)

    async def close(self) -> None:
        """End logins that wait for a person. A refresh is not cut short: a token spent and not kept is lost."""
        self._closed = True
        if self._asking is not None:
            self._asking.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def _alone(self) -> bool:
        """Whether we can log in without a person."""
        return self._target.settings.grant == "client"

    async def _prepare(self, leave: Permit | None) -> None:
        async with self._turn, _kept_well():
            if self.header() is None:
                await self._load()
            if self.header() is None:
                await self._refreshed(leave)

    async def _renew(self, used: str, challenge: Challenge, *, again: bool, leave: Permit | None) -> None:
        async with self._turn, _kept_well():
            if await self._replaced(used):
                return
            if challenge.lacks_scope:
                await self._note_wanted(challenge)
            elif not again and await self._refreshed(leave):
                return
            if self._closed or (not self._alone and self._on_login is None):
                raise self.needed(used, challenge)
            await self._obtain(challenge, leave)

    async def _replaced(self, used: str) -> bool:
        """Whether somebody has got a new token meanwhile: another request of ours, or another process."""
        if self.header() in {None, "", used}:
            await self._load()
        return self.header() not in {None, "", used}

    async def _load(self) -> None:
        data = await self._vault.read(self._key)
        login = Login.read(data, self._user_id, self._target.url) if data is not None else None
        self._adopt(login if login is None or self._fits(login) else None)

    def _fits(self, login: Login) -> bool:
        """A login as another client than the one that is configured now is nobody's."""
        wanted = self._target.settings.client_id
        return login.client.origin == "registered" if wanted is None else login.client.client_id == wanted

    def _adopt(self, login: Login | None) -> None:
        self._login = login
        tokens = login.tokens if login is not None else None
        self._header = f"Bearer {tokens.access}" if tokens is not None else ""
        # Without a login there is nothing that could be spent.
        self._good_until = tokens.good_until if tokens is not None else inf
        if login is not None:
            self._mask.learn(*login.secrets)

    async def _keep(self, login: Login) -> Login:
        # In memory first: what cannot be kept can still be used, by this process.
        self._adopt(login)
        await self._vault.write(self._key, login.written())
        return login

    async def _refreshed(self, leave: Permit | None) -> bool:
        """Whether there is a new token without a login. One process at a time: many a refresh token is spent by it."""
        login = self._login
        if login is None or login.tokens is None or login.tokens.refresh is None:
            return False
        tokens = login.tokens
        async with self._vault.lock(f"oauth-{_hashed(self._user_id, login.issuer)}"):
            await self._load()
            found = self._login.tokens if self._login is not None else None
            if found is not None and found.access != tokens.access:
                return True
            return await self._refresh(login, tokens, leave)

    async def _refresh(self, login: Login, tokens: Tokens, leave: Permit | None) -> bool:
        from bascule.transports.auth.oauth_requests import Fetch  # noqa: PLC0415 -- aiohttp takes half a second

        login = await self._with_peer(login, leave)
        async with Fetch(self._target.url, login.peer or "", leave=leave) as fetch:
            headers, body = refresh_form(login)
            fetched = await fetch.send("POST", login.token_endpoint, headers, body)
        if fetched.status == 200:
            await self._keep(login.with_tokens(read_tokens(fetched.body, self._clock(), tokens)))
            return True
        if fetched.status not in REFUSALS:
            raise ConnectFailed(
                "the login server could not renew our token",
                where=login.issuer,
                evidence=f"HTTP {fetched.status} {refusal_in(fetched.body)}".strip(),
                fix="try again in a while",
            )
        # The client stays: the next login need not be made by a new one.
        await self._keep(login.with_tokens(None))
        return False

    async def _with_peer(self, login: Login, leave: Permit | None) -> Login:
        """A login of 0.1.0 does not say how near its server was; one request shows it."""
        if login.peer is not None:
            return login
        return msgspec.structs.replace(login, peer=(await self._asked_for(leave)).peer)

    async def _note_wanted(self, challenge: Challenge) -> None:
        """Remember what was missing, so that the next login asks for it."""
        if self._login is not None and challenge.scope:
            await self._keep(self._login.wanting(challenge.scope))

    async def _obtain(self, challenge: Challenge, leave: Permit | None) -> None:
        self._asking = asyncio.current_task()
        try:
            redirect_uri = self._target.settings.redirect_uri or REDIRECT_URI
            await self._log_in(challenge, self._on_login, redirect_uri, leave)
        finally:
            self._asking = None

    async def _log_in(
        self, challenge: Challenge, ask: OnLogin | None, redirect_uri: str, leave: Permit | None = None
    ) -> Login:
        # In a thread: the SDK takes a second to import, in which nobody else would be served.
        await asyncio.to_thread(import_module, "bascule.transports.auth.oauth_flow")
        from bascule.transports.auth.oauth_flow import Wish, log_in  # noqa: PLC0415 -- see above
        from bascule.transports.auth.oauth_requests import Fetch  # noqa: PLC0415 -- see above

        target = self._target
        wish = Wish(self._user_id, target.url, target.settings, challenge, redirect_uri, ask, self._login)
        try:
            async with Fetch(target.url, challenge.peer, leave=leave) as fetch:
                login = await log_in(wish, fetch, self._clock())
        except PeerError as error:
            # A login server may repeat what it was sent.
            self._mask.error(error)
            raise
        return await self._keep(login)

    async def _asked_for(self, leave: Permit | None = None) -> Challenge:
        """What the server wants of somebody it does not know."""
        from bascule.transports.auth.oauth_requests import Fetch  # noqa: PLC0415 -- see above

        version = NEW_VERSIONS[-1]
        headers = {**self._target.headers, "Content-Type": "application/json", "MCP-Protocol-Version": version}
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}})
        async with Fetch(self._target.url, leave=leave) as fetch:
            return await fetch.challenge(self._target.url, headers, body)

    async def _finished(self, work: Coroutine[Any, Any, None]) -> None:
        """Let work come to its end also if whoever waits for it gives up: a token that was spent must be replaced, and
        a person may take longer than the request that made them log in."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        # Nobody may be left to hear of its failure.
        if not task.cancelled():
            task.exception()


@asynccontextmanager
async def _kept_well() -> AsyncGenerator[None]:
    """To a request, a login that cannot be read is a server that cannot be reached."""
    try:
        yield
    except StoreError as error:
        raise ConnectFailed(
            error.message, where="login", evidence=error.evidence, cause=error.cause, fix=error.fix
        ) from error


async def _revoked(login: Login, tokens: Tokens) -> bool:
    """Tell the login server that the tokens are no longer wanted. A refresh token takes its access tokens with it."""
    from bascule.transports.auth.oauth_requests import Fetch  # noqa: PLC0415 -- aiohttp takes half a second

    if login.revocation_endpoint is None:
        return False
    told = [(tokens.refresh, "refresh_token"), (tokens.access, "access_token")]
    try:
        async with Fetch(login.server_url, login.peer or "") as fetch:
            for token, kind in told:
                if token is not None:
                    headers, body = revocation_form(login, token, kind)
                    fetched = await fetch.send("POST", login.revocation_endpoint, headers, body)
                    if fetched.status != 200:
                        return False
    except PeerError:
        return False
    return True


def _hashed(*parts: str) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:40]


class Logins:
    """A login is a person's: all agent sessions of one user share it, and no other user's do."""

    def __init__(self, vault: Vault, on_login: OnLogin | None, clock: Callable[[], float]) -> None:
        self._vault = vault
        self._on_login = on_login
        self._clock = clock
        self._made: dict[tuple[str, str], Credentials] = {}

    def of(self, server: ServerConfig, user_id: str, mask: Mask) -> Credentials | None:
        """The login of this user at this server. None for a server at which nobody logs in."""
        key = (server.name, user_id)
        if key not in self._made:
            target = target_of(server)
            if target is None:
                return None
            self._made[key] = Credentials(target, user_id, self._vault, mask, self._on_login, self._clock)
        return self._made[key]

    def drop(self, servers: Collection[str]) -> list[Credentials]:
        """Forget who is logged in at these servers: they may be elsewhere now. What is given back is to be closed."""
        dropped = [key for key in self._made if key[0] in servers]
        return [self._made.pop(key) for key in dropped]

    async def close(self) -> None:
        for credentials in self._made.values():
            await credentials.close()


def target_of(server: ServerConfig) -> Target | None:
    """Where to log in. What the operator sends as `Authorization`, or has printed, leaves nothing to log in for."""
    transport = server.transport
    if not isinstance(transport, StreamableHttpTransport | SseTransport) or server.headers_command is not None:
        return None
    if urlsplit(transport.url).scheme not in {"http", "https"} or "authorization" in map(str.lower, transport.headers):
        return None
    return Target(server.name, transport.url, reveal_all(transport.headers), server.oauth)


def no_login(server: ServerConfig) -> UsageError:
    """Why nobody logs in at a server."""
    if isinstance(server.transport, StreamableHttpTransport | SseTransport):
        return UsageError(
            f"{server.name} is given its credentials by the config",
            where=server.location,
            fix="remove headers.Authorization, or headers_command, to log in instead",
        )
    return UsageError(
        f"{server.name} is no remote server, so there is nothing to log in to",
        where=server.location,
        fix="name a server that has a `url`; one that is a command takes its credentials from `env`",
    )
