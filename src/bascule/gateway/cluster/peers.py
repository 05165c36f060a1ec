"""Queries between gateways on one store, sent by a cluster-wide dashboard, and the endpoint that answers them."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from bascule.core.principal import Principal
from bascule.gateway.cluster.forward import PASS, Broken, Letter, Moved, Relay, Unreachable
from bascule.gateway.cluster.forward_token import Passes
from bascule.gateway.cluster.membership import Membership
from bascule.gateway.mcp.exchange import Send, respond
from bascule.store.owners import Member

PATH = "/neighbours"

LABEL = b"bascule pass of a neighbour\n"
"""What their passes are signed with: none of a client is ever taken for one of theirs, nor the other way round."""

GATEWAY = Principal("gateway", "gateway")
"""On whose behalf they ask: their own."""

Answer = Callable[[bytes], Awaitable[bytes]]
"""Raises `ValueError` for a question that is not understood."""


class Silent(Exception):
    """A neighbour that did not answer in time, or not as was asked."""


class Neighbours:
    """All members but this one."""

    def __init__(self, membership: Membership, relay: Relay, secret: bytes, clock: Callable[[], float]) -> None:
        self._membership = membership
        self._relay = relay
        self.passes = Passes(secret, clock, LABEL)
        self.answer: Answer | None = None
        """What this one tells the others."""

    def others(self) -> tuple[Member, ...]:
        me = self._membership.me.id
        return tuple(each for each in self._membership.members.values() if each.id != me)

    async def ask(self, member: Member, question: bytes, limit: float) -> bytes:
        """What it answers. Raises `Silent` after so many seconds at the latest."""
        heard = _Heard()
        letter = Letter(
            "POST",
            [(PASS, self.passes.write(GATEWAY, member.id)), ("content-type", "application/json")],
            question,
            path=PATH,
        )
        try:
            async with asyncio.timeout(limit):
                await self._relay.carry(letter, member, heard)
        except (Moved, Unreachable, Broken, TimeoutError) as error:
            raise Silent(str(error) or "it took too long") from error
        if heard.status != 200:
            raise Silent(f"it answered with {heard.status}")
        return bytes(heard.body)

    async def serve(self, question: bytes, send: Send) -> None:
        """Answer one of the others, who has shown a pass."""
        if self.answer is None:
            return await respond(send, 404)
        try:
            answer = await self.answer(question)
        except ValueError:
            # It is of another version, say.
            return await respond(send, 400)
        return await respond(send, 200, answer)


class _Heard(msgspec.Struct):
    """An answer, as it comes."""

    status: int = 0
    body: bytearray = msgspec.field(default_factory=bytearray)

    async def __call__(self, event: dict[str, object]) -> None:
        if event["type"] == "http.response.start":
            self.status = msgspec.convert(event["status"], int)
        else:
            self.body += msgspec.convert(event.get("body", b""), bytes)
