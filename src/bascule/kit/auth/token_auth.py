"""Bearer-token authentication over HTTP, with the OAuth metadata that names the authorization servers."""

from fastmcp.server.auth import AccessToken, AuthProvider
from pydantic import AnyHttpUrl, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bascule.core.errors import NotIdentified
from bascule.core.principal import Principal
from bascule.identity.jwt.verifier import Believes
from bascule.identity.oauth.challenge import metadata_url, resource_metadata


class Shown(AccessToken):
    """A token that was verified, and whose it is."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    principal: Principal


class TokenAuth(AuthProvider):
    """One verifier, at one address."""

    def __init__(self, verifier: Believes, url: str, issuers: tuple[str, ...], scopes: frozenset[str]) -> None:
        super().__init__(base_url=_base_of(url), required_scopes=sorted(scopes))
        self._verifier = verifier
        self._url = url
        self._issuers = issuers
        self._scopes = scopes

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            identity = await self._verifier.verify(token)
        except NotIdentified:
            return None
        who = identity.principal
        return Shown(
            token=token,
            # Whoever begins a session of the old era is known by this: no other agent session may go on with it, not
            # even of the same user, since what it would be sent may be private.
            client_id=str(who),
            subject=who.user_id,
            scopes=sorted(self._scopes | identity.scopes if identity.ours else identity.scopes),
            expires_at=int(identity.expires_at),
            principal=who,
        )

    def _get_resource_url(self, path: str | None = None) -> AnyHttpUrl:  # noqa: ARG002 -- where clients reach it is known
        return AnyHttpUrl(self._url)

    def get_routes(self, mcp_path: str | None = None) -> list[Route]:
        self.set_mcp_path(mcp_path)
        document = resource_metadata(self._url, self._issuers, self._scopes)

        async def metadata(_request: Request) -> Response:
            return Response(document, media_type="application/json")

        path = metadata_url(self._url).split("/", 3)[3]
        return [Route(f"/{path}", endpoint=metadata, methods=["GET"])]


def _base_of(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"
