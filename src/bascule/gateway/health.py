"""Health endpoints (`/healthz`, `/readyz`), OAuth protected resource metadata, and the `WWW-Authenticate` challenge for
rejected tokens."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from bascule.core.errors import NotIdentified
from bascule.gateway.errors import not_served
from bascule.gateway.mcp.exchange import Send, respond
from bascule.identity.oauth.challenge import Challenge, metadata_url, resource_metadata

LIVE = "/healthz"
READY = "/readyz"

DRAINING = "draining"
"""Told to stop: what is under way is still answered."""


class Signs:
    """The pages beside the endpoint."""

    def __init__(
        self, url: str, issuers: tuple[str, ...], unready: Callable[[], tuple[str, ...]] = tuple[str, ...]
    ) -> None:
        self._metadata_url = metadata_url(url)
        self._metadata_path = "/" + self._metadata_url.split("/", 3)[3]
        self._metadata = resource_metadata(url, issuers)
        self._issuers = issuers
        self._unready = unready
        self.draining: Callable[[], bool] = bool

    async def show(self, scope: Mapping[str, Any], send: Send) -> None:
        path = scope["path"]
        if scope["method"] not in {"GET", "HEAD"}:
            return await respond(send, 404)
        if path == LIVE:
            return await respond(send, 200, b'{"ok":true}')
        if path == READY:
            return await self._show_ready(send)
        if self._issuers and path == self._metadata_path:
            return await respond(send, 200, self._metadata)
        return await respond(send, 404)

    async def _show_ready(self, send: Send) -> None:
        """In words that tell a stranger nothing: which server is down stands in the log."""
        reasons = [DRAINING] if self.draining() else [*self._unready()]
        await respond(send, 503 if reasons else 200, msgspec.json.encode({"ready": not reasons, "reasons": reasons}))

    async def challenge(self, error: NotIdentified, send: Send, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Where to get a token, for who shows none that is believed. Of the reason only the kind is told."""
        status = 403 if error.error == "insufficient_scope" else 401
        shown = Challenge(error=error.error or "", resource_metadata=self._metadata_url if self._issuers else "")
        headers = [(b"www-authenticate", shown.header().encode("latin-1")), *more]
        await respond(send, status, not_served(error), headers)
