"""OAuth login flow, from the server's challenge to tokens: the SDK's `httpx2.Auth` generator, driven by hand, with
every request sent by `Fetch`. Importing this module imports the SDK."""

import logging
import warnings
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from mcp.shared.exceptions import MCPDeprecationWarning
from pydantic import AnyUrl

from bascule.config.model.oauth import OAuthSettings
from bascule.config.secret import Secret
from bascule.core.errors import LoginFailed
from bascule.identity.oauth.challenge import Challenge
from bascule.identity.oauth.login import Client, Login, Tokens, joined_scopes
from bascule.identity.oauth.redirect import Granted, OnLogin, read_redirect
from bascule.identity.oauth.token_endpoint import read_tokens, refusal_in
from bascule.transports.auth.oauth_requests import Fetch, Fetched
from bascule.wire.jsonrpc import sample

BASIC, POST, NONE = "client_secret_basic", "client_secret_post", "none"

_ours: ContextVar[bool] = ContextVar("bascule_login", default=False)


@dataclass(frozen=True, slots=True)
class Wish:
    """Which login is wanted: of whom, where, as which client, and what the server has asked for."""

    user_id: str
    server_url: str
    settings: OAuthSettings
    challenge: Challenge
    redirect_uri: str
    ask: OnLogin | None = None
    """Sends a person to the login server. None where the client's own credentials are enough."""
    kept: Login | None = None
    """What is known from earlier logins."""

    @property
    def scope(self) -> str:
        """What to ask for; empty for what the server publishes. The operator's list outranks the server's."""
        if self.settings.scopes:
            return joined_scopes(*self.settings.scopes)
        wanted = self.kept.wanted if self.kept is not None else ""
        granted = self.kept.tokens.scope if wanted and self.kept is not None and self.kept.tokens is not None else ""
        return joined_scopes(granted, self.challenge.scope, wanted)


async def log_in(wish: Wish, fetch: Fetch, now: float) -> Login:
    """Log in. Raises `LoginFailed`, or `ConnectFailed` where somebody could not be reached."""
    flow = Flow(wish, fetch)
    told = _ours.set(True)
    try:
        await flow.drive()
    except OAuthRegistrationError:
        raise flow.not_registered() from None
    except OAuthTokenError:
        raise flow.no_token() from None
    except OAuthFlowError as error:
        raise _wrong_way(sample(str(error).encode())) from None
    except (ValueError, httpx2.InvalidURL) as error:
        # What such an error quotes may be a part of the answer that is nobody's business.
        raise _wrong_way(f"{type(error).__name__}, {flow.last_words()}") from None
    finally:
        _ours.reset(told)
    return flow.login(now)


class Flow:
    """One login on its way: the SDK's provider, and what it asks of us."""

    def __init__(self, wish: Wish, fetch: Fetch) -> None:
        self._wish = wish
        self._fetch = fetch
        self._memory = _Memory(_known_client(wish))
        self._granted: Granted | None = None
        self._last: Fetched | None = None
        self._asked = ""
        self._provider = self._make_provider()

    async def drive(self) -> None:
        """Take the SDK's flow from the server's demand to the request that would be sent with the new token."""
        request = httpx2.Request("POST", self._wish.server_url)
        asked = Challenge("", self._wish.scope, self._wish.challenge.resource_metadata)
        answer = httpx2.Response(401, headers={"WWW-Authenticate": asked.header()}, request=request)
        async with aclosing(self._provider.async_auth_flow(request)) as flow:
            await anext(flow)
            while (wanted := await flow.asend(answer)) is not request:
                answer = await self._answer(wanted)

    def login(self, now: float) -> Login:
        context, wish = self._provider.context, self._wish
        token, info, metadata = context.current_tokens, context.client_info, context.oauth_metadata
        assert token is not None
        assert info is not None
        assert self._last is not None
        # Read once more, by our own rules. The SDK knows what was asked for, where the answer leaves out the scope.
        tokens = read_tokens(self._last.body, now, Tokens("", scope=token.scope))
        told = context.should_include_resource_param(None)
        return Login(
            user_id=wish.user_id,
            server_url=wish.server_url,
            issuer=self._issuer(metadata),
            token_endpoint=self._endpoint(metadata and metadata.token_endpoint, "/token"),
            client=_client(wish, info),
            tokens=tokens,
            revocation_endpoint=str(metadata.revocation_endpoint)
            if metadata and metadata.revocation_endpoint
            else None,
            resource=context.get_resource_url() if told else None,
            peer=wish.challenge.peer,
        )

    def not_registered(self) -> LoginFailed:
        if self._provider.context.oauth_metadata is None:
            return LoginFailed(
                "the server publishes nothing that says where to log in",
                where="login",
                evidence=self.last_words(),
                fix="if it takes a token instead, set headers.Authorization for this server",
            )
        return LoginFailed(
            "the login server does not register clients by itself",
            where="login",
            evidence=self.last_words(),
            fix="set oauth.client_id to a client that was registered there",
        )

    def no_token(self) -> LoginFailed:
        return LoginFailed(
            "the login server gave no token",
            where="token endpoint",
            evidence=self.last_words(),
            fix="log in again; if it stays so, check oauth.client_id",
        )

    def last_words(self) -> str:
        """The last answer of the login server, as far as it may be shown."""
        if self._last is None:
            return ""
        told = refusal_in(self._last.body)
        return f"HTTP {self._last.status} from {self._asked}" + (f": {told}" if told else "")

    async def _answer(self, wanted: httpx2.Request) -> httpx2.Response:
        context = self._provider.context
        if wanted.method == "POST" and context.protected_resource_metadata and not context.oauth_metadata:
            # The SDK would go on and try its luck at the server's own address, unknown what for.
            raise LoginFailed(
                "the login server publishes nothing about itself",
                where=str(context.auth_server_url),
                evidence=self.last_words(),
                fix="ask whoever runs the login server",
            )
        headers = {
            name: value for name, value in wanted.headers.items() if name.lower() not in {"host", "content-length"}
        }
        fetched = await self._fetch.send(wanted.method, str(wanted.url), headers, wanted.content)
        self._last, self._asked = fetched, sample(str(wanted.url.copy_with(query=None)).encode())
        # The SDK decodes what it puts into an error, so bytes that are no text may not reach it.
        body = fetched.body if fetched.status < 300 else fetched.body[:1000].decode("utf-8", "replace").encode()
        kept = [
            (name, value)
            for name, value in fetched.headers
            if name.lower() not in {"content-length", "transfer-encoding"}
        ]
        return httpx2.Response(fetched.status, headers=kept, content=body, request=wanted)

    def _make_provider(self) -> OAuthClientProvider:
        wish, settings = self._wish, self._wish.settings
        if settings.grant == "client":
            with warnings.catch_warnings():
                # Without an issuer it is the server that says who sees the credentials; our operator has chosen so.
                warnings.simplefilter("ignore", MCPDeprecationWarning)
                return _client_provider(wish, self._memory)
        metadata = OAuthClientMetadata(
            client_name="Bascule",
            redirect_uris=[AnyUrl(wish.redirect_uri)],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
        )
        return OAuthClientProvider(
            wish.server_url,
            metadata,
            self._memory,
            self._send_person,
            self._came_back,
            client_metadata_url=settings.document_url,
        )

    async def _send_person(self, url: str) -> None:
        metadata = self._provider.context.oauth_metadata
        self._fetch.check(url)
        self._check(metadata)
        self._choose_method(metadata)
        if self._wish.ask is None:
            raise LoginFailed("somebody has to log in, and nobody can be asked here", fix="run `bascule login`")
        back = await self._wish.ask(url)
        if back is None:
            raise LoginFailed("nobody has logged in", fix="run `bascule login` again")
        (state,) = parse_qs(urlsplit(url).query)["state"]
        self._granted = read_redirect(back, state, str(metadata.issuer) if metadata is not None else None)

    async def _came_back(self) -> AuthorizationCodeResult:
        assert self._granted is not None
        return AuthorizationCodeResult(code=self._granted.code, state=self._granted.state, iss=self._granted.issuer)

    def _check(self, metadata: OAuthMetadata | None) -> None:
        if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise LoginFailed(
                "the login server does not protect the login against theft of its code (PKCE with S256)",
                evidence=f"code_challenge_methods_supported: {metadata.code_challenge_methods_supported}",
                fix="ask whoever runs the login server to switch PKCE on",
            )
        pinned = self._wish.settings.issuer
        if pinned is not None and not issuers_match(self._issuer(metadata), pinned):
            raise LoginFailed(
                "the server leads to another login server than the one that was configured",
                evidence=f"{self._issuer(metadata)}, not {pinned}",
                fix="correct `issuer`, if the server has moved",
            )

    def _choose_method(self, metadata: OAuthMetadata | None) -> None:
        """A client from the config says nothing of how it proves itself; the login server says what it takes."""
        info = self._provider.context.client_info
        offered = metadata.token_endpoint_auth_methods_supported if metadata is not None else None
        if info is not None and self._wish.settings.client_secret is not None and offered and BASIC not in offered:
            info.token_endpoint_auth_method = POST

    def _issuer(self, metadata: OAuthMetadata | None) -> str:
        return str(metadata.issuer) if metadata is not None else self._endpoint(None, "")

    def _endpoint(self, published: object, path: str) -> str:
        parts = urlsplit(self._wish.server_url)
        return str(published) if published else f"{parts.scheme}://{parts.netloc}{path}"


class _Memory:
    """What the SDK asks to be kept, for the length of one login. Tokens begin as none: it must not refresh them."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """They are taken from the flow itself, once it has ended."""

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


def _known_client(wish: Wish) -> OAuthClientInformationFull | None:
    """The client to log in as, unless one has to be made."""
    settings, kept = wish.settings, wish.kept
    uris = [AnyUrl(wish.redirect_uri)]
    if settings.client_id is not None and settings.document_url is None:
        secret = _revealed(settings.client_secret)
        method = NONE if secret is None else BASIC
        return OAuthClientInformationFull(
            client_id=settings.client_id, client_secret=secret, token_endpoint_auth_method=method, redirect_uris=uris
        )
    if settings.client_id is None and kept is not None and kept.client.redirect_uri == wish.redirect_uri:
        client = kept.client
        return OAuthClientInformationFull(
            client_id=client.client_id,
            client_secret=client.secret,
            token_endpoint_auth_method=client.method,
            redirect_uris=uris,
            issuer=kept.issuer,
        )
    return None


def _client(wish: Wish, info: OAuthClientInformationFull) -> Client:
    given = wish.settings.client_id is not None
    origin = "registered" if not given else "document" if info.client_id == wish.settings.document_url else "given"
    return Client(
        info.client_id,
        info.client_secret,
        info.token_endpoint_auth_method,
        redirect_uri=wish.redirect_uri,
        origin=origin,
    )


def _client_provider(wish: Wish, memory: _Memory) -> OAuthClientProvider:
    settings = wish.settings
    assert settings.client_id is not None
    key = _revealed(settings.private_key)
    if key is None:
        secret = _revealed(settings.client_secret) or ""
        return ClientCredentialsOAuthProvider(
            wish.server_url, memory, settings.client_id, secret, issuer=settings.issuer
        )
    signing = SignedJWTParameters(
        issuer=settings.client_id,
        subject=settings.client_id,
        signing_key=key,
        signing_algorithm=settings.signing_algorithm,
    )
    return PrivateKeyJWTOAuthProvider(
        wish.server_url, memory, settings.client_id, signing.create_assertion_provider(), issuer=settings.issuer
    )


def _revealed(secret: Secret | str | None) -> str | None:
    return secret.reveal() if isinstance(secret, Secret) else secret


def _wrong_way(evidence: str) -> LoginFailed:
    return LoginFailed(
        "what is published about this login is wrong",
        where="login",
        evidence=evidence,
        cause="the server, or its login server, is set up wrongly or means us harm",
        fix="ask whoever runs the server",
    )


def _not_ours(_: logging.LogRecord) -> bool:
    return not _ours.get()


# The SDK logs each failure with its stack, codes and answers in it included. Ours are told once, as errors.
logging.getLogger("mcp.client.auth.oauth2").addFilter(_not_ours)
