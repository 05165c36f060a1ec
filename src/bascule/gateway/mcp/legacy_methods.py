"""Methods of old-era clients beside requests to servers: log level, resource subscriptions, and the notification of
changed roots."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from bascule.core.client_features import Respondent
from bascule.core.json_types import JsonObject, is_object
from bascule.core.log_listener import LEVELS
from bascule.gateway.errors import INVALID_REQUEST, Rejected
from bascule.gateway.mcp.client import Client
from bascule.gateway.mcp.elicitation import Asker
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.listen import MOST_RESOURCES
from bascule.gateway.mcp.notifications import Outlet
from bascule.gateway.mcp.results import failed_request
from bascule.runtime.session import AgentSession
from bascule.upstream.notifications import SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE
from bascule.wire.request_meta import INVALID_PARAMS

WISHES = frozenset({SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE})


def opened(session: AgentSession) -> Outlet:
    """Where a client of the old era is told of news from now on, until it is closed."""
    outlet = Outlet()
    session.listen(outlet)
    outlet.on_close(partial(session.leave, outlet))
    return outlet


def note_roots(session: AgentSession, offered: Mapping[str, Any], outlet: Outlet) -> None:
    """A client of the old era says that it has other roots. Servers may ask for them by the stream of its own."""
    if is_object(offered.get("roots")):
        session.roots_changed(Respondent(on_roots=Asker(outlet.ask).roots))


class Wishes:
    """Serves the requests with which one client says so."""

    def __init__(self, session: AgentSession, outlet: Outlet | None) -> None:
        """Without an outlet, there is nowhere to tell the client anything."""
        self._session = session
        self._outlet = outlet

    async def serve(self, asked: Asked, client: Client | None = None) -> JsonObject:  # noqa: ARG002 -- as a desk does
        """The result. Raises `Rejected`."""
        if self._outlet is None:
            raise Rejected(INVALID_REQUEST, "this wants a session: begin one with initialize", status=400)
        serve: dict[str, Callable[[Asked, Outlet], Awaitable[None]]] = {
            SET_LEVEL: self._set_level,
            SUBSCRIBE: self._subscribe,
            UNSUBSCRIBE: self._unsubscribe,
        }
        await serve[asked.method](asked, self._outlet)
        return {}

    async def _set_level(self, asked: Asked, outlet: Outlet) -> None:
        level = asked.params.get("level")
        if level not in LEVELS:
            raise Rejected(INVALID_PARAMS, f"level is one of {', '.join(LEVELS)}", status=200)
        outlet.asked = str(level)
        await self._session.tune()

    async def _subscribe(self, asked: Asked, outlet: Outlet) -> None:
        uri = _uri(asked)
        if uri not in outlet.resources and len(outlet.resources) >= MOST_RESOURCES:
            raise Rejected(INVALID_PARAMS, f"one client may be subscribed to {MOST_RESOURCES} resources", status=200)
        failure = await self._session.subscribe(uri, outlet)
        if failure is not None:
            raise failed_request(failure, new=False)
        if outlet.closed:
            self._session.unsubscribe(uri, outlet)
        elif uri not in outlet.resources:
            give_up = partial(self._session.unsubscribe, uri, outlet)
            outlet.resources[uri] = give_up

    async def _unsubscribe(self, asked: Asked, outlet: Outlet) -> None:
        """Also of what was never subscribed to: there is nothing to be told of it then either."""
        give_up = outlet.resources.pop(_uri(asked), None)
        if give_up is not None:
            give_up()


def _uri(asked: Asked) -> str:
    uri = asked.params.get("uri")
    if not isinstance(uri, str):
        raise Rejected(INVALID_PARAMS, "uri must be text", status=200)
    return uri
