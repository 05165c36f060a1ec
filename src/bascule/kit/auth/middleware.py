"""Session middleware of a kit server: sets principal, workspace and sensitivity level for each request."""

from typing import Any

from fastmcp.server.dependencies import get_access_token
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from bascule.core.principal import Principal
from bascule.identity.current import CURRENT as WHO
from bascule.kit.auth.token_auth import Shown
from bascule.kit.request_context import Home


class AuthSessionMiddleware(Middleware):
    """Sets who asks, their workspace and what they have seen when a request begins, and resets it when it ends.

    Who asks is known from the token of this very request; where there are no tokens, from the code in this process that
    asks, or from the token that the process was started with. Never from an argument, nor from an earlier request.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self.fixed: Principal | None = None
        """Who asks where nobody else is known to: whom this process was started for, or who is developing it."""

    async def on_request(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        principal = self._who()
        if principal is None:
            return await call_next(context)
        with self._home.course_of(principal):
            return await call_next(context)

    def _who(self) -> Principal | None:
        shown = get_access_token()
        if shown is not None:
            # A token that somebody else has let in says nothing here.
            return shown.principal if isinstance(shown, Shown) else None
        return WHO.get() or self.fixed
