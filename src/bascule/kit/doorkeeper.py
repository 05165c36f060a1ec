"""What is looked at before anything else of a request over HTTP."""

from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

JSON = "application/json"


class Doorkeeper:
    """Turns away what no client of the protocol sends: a body that is not JSON, which a web page can send without being
    asked; and, where one user stands for everybody, whoever is not on this machine."""

    def __init__(self, app: ASGIApp, *, path: str, loopback_only: bool) -> None:
        self._app = app
        self._path = path.rstrip("/")
        self._loopback_only = loopback_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        if self._loopback_only and not _is_here(scope.get("client")):
            return _said(403, "a development principal is for this machine alone")
        if scope["method"] == "POST" and scope["path"].rstrip("/") == self._path:
            kind = Headers(scope=scope).get("content-type", "")
            if kind.partition(";")[0].strip().lower() != JSON:
                return _said(415, f"the body must be {JSON}")
        return None


def _is_here(client: object) -> bool:
    """Whether whoever asks is on this machine. Who cannot be told is not."""
    try:
        return ip_address(client[0]).is_loopback if isinstance(client, tuple | list) and client else False  # pyright: ignore[reportUnknownArgumentType]
    except ValueError:
        return False


def _said(status: int, words: str) -> JSONResponse:
    return JSONResponse({"error": words}, status_code=status)
