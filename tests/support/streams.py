"""A stream dispatcher without a stream: the test is the peer."""

import asyncio
import json
from typing import Any

from bascule.core.counters import Tally
from bascule.core.errors import ConnectionLost
from bascule.core.request import OnProgress, Permit, Request
from bascule.transports.process.stream import StreamDispatcher
from support.waiting import fail_after


class Loopback(StreamDispatcher):
    """Keeps what it writes, and reads what the test gives it."""

    def __init__(self, max_message: int = 1024 * 1024) -> None:
        super().__init__(max_message)
        self.written: list[bytes] = []
        self.outbox = self.connect_output(self._write)
        self._wrote = asyncio.Event()

    async def open(self) -> None:
        """It always is, but only by now has the leave that it was given."""
        self.outbox = self.connect_output(self._write)

    async def close(self, grace: float) -> None:
        self.lose(ConnectionLost("the link was closed"))

    def evidence(self) -> str:
        return ""

    def _write(self, data: bytes) -> None:
        self.written.append(data)
        self._wrote.set()

    async def until_sent(self, count: int) -> None:
        """Wait until so many messages were written."""
        async with fail_after(10, f"the writing of {count} messages"):
            while len(self.sent) < count:
                self._wrote.clear()
                await self._wrote.wait()

    async def send(self, request: Request) -> dict[str, Any]:
        async with fail_after(20, request.method):
            return await super().send(request)

    @property
    def sent(self) -> list[dict[str, Any]]:
        """Every message that was written."""
        return [json.loads(line) for line in b"".join(self.written).splitlines()]

    def say(self, *messages: Any) -> None:
        """Arrive from the peer, in one chunk."""
        self.feed(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def answer(self, request_id: Any, **result: Any) -> None:
        self.say({"jsonrpc": "2.0", "id": request_id, "result": result})

    def ask(self, method: str, timeout: float = 5.0, **terms: Any) -> "asyncio.Task[dict[str, Any]]":
        """Send a request from a task of its own."""
        return asyncio.create_task(self.send(a_request(method, timeout, **terms)))


def a_request(
    method: str = "tools/call",
    timeout: float = 5.0,
    *,
    params: dict[str, Any] | None = None,
    phase: str = "call",
    permit: Permit | None = None,
    on_progress: OnProgress | None = None,
    cancel_on_abandon: bool = True,
    tally: Tally | None = None,
) -> Request:
    return Request(
        method,
        params,
        timeout,
        phase,
        permit,
        on_progress,
        cancel_on_abandon=cancel_on_abandon,
        tally=tally,
    )


class Leave:
    """A permit that can be taken away, and that counts how often it was asked in vain."""

    def __init__(self, *, given: bool = True) -> None:
        self.given = given
        self.refusals = 0

    def valid(self) -> bool:
        self.refusals += not self.given
        return self.given

    async def regain(self) -> None:
        """It is had again when the test gives it."""
