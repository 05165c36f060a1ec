"""Internal endpoint for other gateways: accepts requests with a valid forward token, passes on those for another worker
of this machine, and answers peer queries."""

import logging
from typing import Any

from bascule.core.principal import Principal
from bascule.gateway.app import Gateway, Scope
from bascule.gateway.cluster.address import InnerAddress
from bascule.gateway.cluster.forward import (
    BROKEN,
    MOVED,
    PASS,
    RELAYED,
    Broken,
    Letter,
    Moved,
    Relay,
    Unreachable,
    carried,
)
from bascule.gateway.cluster.forward_token import Passes
from bascule.gateway.cluster.membership import Membership
from bascule.gateway.cluster.peers import PATH as NEIGHBOURS
from bascule.gateway.cluster.peers import Neighbours
from bascule.gateway.cluster.routing import STREAMS, tell_of_the_end
from bascule.gateway.errors import retry_after, too_much
from bascule.gateway.http.body import Body, Bulk, Gone, Intake, NotTaken
from bascule.gateway.http.disconnect import Attention, Receive
from bascule.gateway.http.headers import read_head
from bascule.gateway.limits import Allowance, TooMuch
from bascule.gateway.mcp.exchange import Send, respond
from bascule.store.owners import Member

_log = logging.getLogger("bascule.gateway")


class InnerDoor:
    """An app that serves whom a pass names, if that agent session is served here."""

    def __init__(self, app: Gateway, membership: Membership, passes: Passes, relay: Relay, intake: Intake) -> None:
        self._app = app
        self._membership = membership
        self._passes = passes
        self._relay = relay
        self._intake = intake
        self.neighbours: Neighbours | None = None
        """Whom other gateways ask on their own account."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return None
        headers: dict[bytes, bytes] = dict(scope["headers"])
        shown = headers.get(PASS.encode(), b"").decode("latin-1")
        me = self._membership.me.id
        asked = self.neighbours if scope["path"] == NEIGHBOURS else None
        passes = self._passes if asked is None else asked.passes
        to = passes.addressee(shown)
        if to and to != me:
            return await self._pass_on(scope, receive, send, shown, to)
        principal = passes.take(shown, me)
        if principal is None:
            _log.warning("a request was turned away whose pass is none, was used, or is older than the clocks allow")
            return await _moved(send)
        if asked is not None:
            return await self._tell(asked, headers, receive, send)
        return await self._serve(principal, scope, headers, receive, send)

    async def _tell(self, asked: Neighbours, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        taken = await self._body(headers, receive, send)
        if taken is None:
            return
        question, bulk = taken
        try:
            await asked.serve(bytes(question), send)
        finally:
            if bulk is not None:
                bulk.release()

    async def _body(self, headers: dict[bytes, bytes], receive: Receive, send: Send) -> tuple[Body, Bulk | None] | None:
        """What was sent. None where it was not taken, and that is answered."""
        length = headers.get(b"content-length", b"").decode("latin-1")
        try:
            return await self._intake.take(receive, length, Allowance())
        except NotTaken as error:
            await respond(send, error.status)
        except TooMuch as error:
            await respond(send, 429, too_much(error), retry_after(error))
        except Gone:
            pass
        return None

    async def _serve(
        self, principal: Principal, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        owner = await self._membership.owner(principal)
        if owner is None or owner.id != self._membership.me.id:
            return await _moved(send, "" if owner is None else owner.id)
        if scope["method"] == "GET" or headers.get(b"mcp-method", b"").decode("latin-1") in STREAMS:
            return await self._app.serve_for(principal, scope, receive, send)
        with self._membership.holding(principal):
            return await self._app.serve_for(principal, scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, shown: str, to: str) -> None:
        """From another machine it comes to any of the workers here, and is for one of them."""
        member = await self._membership.find(to)
        headers: dict[bytes, Any] = dict(scope["headers"])
        own = InnerAddress.read(self._membership.me.address)
        known = member is not None and InnerAddress.read(member.address).is_beside(own)
        if member is None or not known or RELAYED.encode() in headers:
            return await _moved(send)
        taken = await self._body(headers, receive, send)
        if taken is None:
            return None
        body, bulk = taken
        along = [*(carried(scope["headers"]) or []), (PASS, shown), (RELAYED, "1")]
        try:
            await self._carry(Letter(scope["method"], along, body, bulk, scope["path"]), member, scope, (receive, send))
        finally:
            if bulk is not None:
                bulk.release()

    async def _carry(self, letter: Letter, member: Member, scope: Scope, ends: tuple[Receive, Send]) -> None:
        receive, send = ends
        try:
            with Attention(receive):
                await self._relay.carry(letter, member, send)
        except Moved as moved:
            await _moved(send, moved.to)
        except Unreachable:
            await _moved(send)
        except Broken as error:
            if not error.begun:
                return await respond(send, 502, headers=[(BROKEN.encode(), b"1")])
            await tell_of_the_end(letter, read_head(scope["headers"]), error, send)


async def _moved(send: Send, to: str = "") -> None:
    await respond(send, 421, headers=[(MOVED.encode(), to.encode())])
