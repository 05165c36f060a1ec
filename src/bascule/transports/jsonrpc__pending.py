"""A request whose reply is awaited, from the moment it is queued."""

import asyncio

from bascule.core.errors import LaneClosed, PeerError, PermitLost, ReplyTimeout
from bascule.core.request import Request
from bascule.transports.outbox import Outgoing
from bascule.transports.progress import ProgressRelay
from bascule.wire.jsonrpc import Message


class Pending(Outgoing, eq=False, kw_only=True):
    """A message on its way out that somebody waits for. One object, and in no cycle: every call makes one."""

    request: Request
    future: asyncio.Future[Message]
    deadline: float
    relay: ProgressRelay | None = None

    @classmethod
    def of(cls, request: Request, data: bytes, future: asyncio.Future[Message], deadline: float) -> "Pending":
        if request.on_progress is None:
            return cls(data, request.permit, request=request, future=future, deadline=deadline)
        relay = ProgressRelay(request.on_progress)
        return cls(data, request.permit, request=request, future=future, deadline=deadline, relay=relay)

    @property
    def awaited(self) -> bool:
        """Whether a reply can be meant for it. One that comes before the request has left was guessed, not answered."""
        return self.sent and not self.future.done()

    @property
    def answered(self) -> bool:
        return self.future.done() and not self.future.cancelled() and self.future.exception() is None

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def refuse(self) -> None:
        self.fail(PermitLost("the agent session changed before the request was written"))

    def bar(self, reason: PeerError) -> None:
        """End it because its lane is closed. What has not left must stay."""
        self.dropped = not self.sent
        if self.sent:
            self.fail(LaneClosed(reason.message, evidence=reason.evidence, cause=reason.cause, fix=reason.fix))
        else:
            self.refuse()
        if self.relay is not None:
            self.relay.stop()

    def expire(self) -> None:
        request = self.request
        self.fail(
            ReplyTimeout(
                f"no reply to {request.method} within {request.timeout:g} s",
                phase=request.phase,
                timeout=request.timeout,
                fix=f"if the server is only slow, raise its `timeouts.{request.phase}`",
            )
        )
