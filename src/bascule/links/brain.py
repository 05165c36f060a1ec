"""The official SDK's client session on one of our links, made when something first needs it.

Importing the SDK takes a second and a session holds tasks, while most links only ever list and call tools.
"""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from bascule.core.errors import ConnectionLost, ProtocolViolation
from bascule.core.jsonvalue import JsonObject
from bascule.links.terms import Agreement, Terms
from bascule.transports.dispatcher import Dispatcher, is_new_era

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp_types import DiscoverResult, InitializeResult


class Brain:
    """Answers what a server asks of us, in the SDK's way. One task owns the SDK's session from entry to exit."""

    def __init__(self, dispatcher: Dispatcher, agreement: Agreement, terms: Terms) -> None:
        self._dispatcher = dispatcher
        self._agreement = agreement
        self._terms = terms
        self._session: asyncio.Future[ClientSession] | None = None
        self._owner: asyncio.Task[None] | None = None
        dispatcher.on_request = self._first_request

    async def session(self) -> "ClientSession":
        if self._session is None:
            self._session = asyncio.get_running_loop().create_future()
            self._owner = asyncio.create_task(self._own(self._session))
            self._owner.add_done_callback(self._owner_ended)
        return await asyncio.shield(self._session)

    async def close(self) -> None:
        if self._owner is not None:
            self._owner.cancel()
            await asyncio.wait((self._owner,))
            if not self._owner.cancelled():
                self._owner.exception()
        if self._session is not None and not self._session.done():
            self._session.set_exception(ConnectionLost("the link was closed", sent=False))
            self._session.exception()

    async def _first_request(self, method: str, params: JsonObject) -> JsonObject:
        await self.session()
        # Entering the session has put the SDK's own answering in our place.
        assert self._dispatcher.on_request is not None
        return await self._dispatcher.on_request(method, params)

    async def _own(self, ready: "asyncio.Future[ClientSession]") -> None:
        # In a thread: it takes a second, in which nobody else would be served.
        await asyncio.to_thread(import_module, "bascule.transports.sdk_face")
        from mcp import ClientSession  # noqa: PLC0415 -- see the module's docstring
        from mcp_types import Implementation  # noqa: PLC0415

        from bascule.transports.sdk_face import SdkFace  # noqa: PLC0415 -- imports the SDK

        client_info = Implementation.model_validate(dict(self._terms.client_info))
        agreed = _in_sdk_words(self._agreement)
        async with ClientSession(dispatcher=SdkFace(self._dispatcher), client_info=client_info) as session:
            session.adopt(agreed)
            ready.set_result(session)
            await asyncio.get_running_loop().create_future()

    def _owner_ended(self, owner: asyncio.Task[None]) -> None:
        """Whoever waits for the session must not wait for ever because it could not be made."""
        error = None if owner.cancelled() else owner.exception()
        if error is not None and self._session is not None and not self._session.done():
            self._session.set_exception(error)


def _in_sdk_words(agreed: Agreement) -> "DiscoverResult | InitializeResult":
    from mcp_types import DiscoverResult, InitializeResult  # noqa: PLC0415 -- see the module's docstring
    from pydantic import ValidationError  # noqa: PLC0415

    found: JsonObject = {"capabilities": dict(agreed.capabilities)}
    try:
        if is_new_era(agreed.version):
            found |= {"supportedVersions": [agreed.version], "ttlMs": 0, "cacheScope": "private"}
            return DiscoverResult.model_validate(found)
        info = {"name": "unknown", "version": "", **agreed.server_info}
        return InitializeResult.model_validate({**found, "protocolVersion": agreed.version, "serverInfo": info})
    except ValidationError as error:
        raise ProtocolViolation("the server describes itself wrongly", evidence=str(error)[:400]) from error
