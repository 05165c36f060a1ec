"""SSE stream in the response to one POST. In the old era it may be resumed over several connections."""

import asyncio
from collections.abc import Callable

from aiohttp import ClientError
from msgspec import UNSET

from bascule.core.errors import ConnectionLost, PermitLost
from bascule.transports.http.endpoint import Endpoint
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response import Response
from bascule.transports.http.server_stream import Answer, Chunks, answer_of, message_of, wait_before
from bascule.wire.jsonrpc import Message, normal_id, sample
from bascule.wire.sse import EventReader

MAX_RESUMES = 3
"""Times in a row that coming back to a broken stream may bring nothing before its request is given up."""


class ReplyStream:
    """One request's stream. What it carries beside the reply is handed on as it comes."""

    def __init__(
        self, endpoint: Endpoint, exchange: Exchange, take: Callable[[Message, Exchange], None], max_message: int
    ) -> None:
        self._endpoint = endpoint
        self._exchange = exchange
        self._take = take
        self._reader = EventReader(max_message)
        self._failures = 0
        self.session_gone = False

    async def reply(self, response: Response) -> tuple[Message, Response]:
        """The reply, and the response on which it came at last."""
        self._exchange.seen = f"HTTP {response.status} and an event stream, without the reply"
        while True:
            try:
                message, ended = await self._read(response)
            except BaseException:
                response.close()
                raise
            if message is not None:
                return message, response
            response.close()
            response = await self._resume(ended)

    async def _read(self, response: Response) -> tuple[Message | None, str]:
        self._reader.restart()
        chunks = Chunks(response.content)
        try:
            while chunk := await chunks.next():
                reply = self._take_chunk(chunk)
                if reply is not None:
                    return reply, ""
        except ClientError as error:
            return None, sample(f"{type(error).__name__}: {error}".encode())
        return None, "the server ended the stream"

    def _take_chunk(self, chunk: bytes) -> Message | None:
        reply: Message | None = None
        for event in self._reader.feed(chunk):
            self._failures = 0
            message = message_of(event)
            if message is None:
                continue
            if reply is None and answers(message, self._exchange):
                reply = message
            else:
                self._take(message, self._exchange)
        if reply is None and self._reader.violation is not None:
            raise self._reader.violation
        return reply

    async def _resume(self, ended: str) -> Response:
        while self._endpoint.old_era and self._reader.last_id is not None and self._failures < MAX_RESUMES:
            await asyncio.sleep(wait_before(self._reader.retry, self._failures))
            self._failures += 1
            try:
                response = await self._endpoint.get(self._reader.last_id)
            except (ClientError, PermitLost) as error:
                ended = sample(f"{type(error).__name__}: {error}".encode())
                continue
            answer = answer_of(response, in_session=self._endpoint.in_session)
            if answer is Answer.STREAM:
                return response
            response.close()
            ended = f"coming back to it gave HTTP {response.status}"
            if answer is not Answer.LATER:
                self.session_gone = answer is Answer.GONE
                break
        raise ConnectionLost(
            f"the event stream of {self._exchange.request.method} ended before the reply", sent=True, evidence=ended
        )


def answers(message: Message, exchange: Exchange) -> bool:
    """Whether this is the reply. So is an error without an id: the server could not tell which request it refuses."""
    if message.method is not None:
        return False
    if message.id is None:
        return message.error is not UNSET
    if type(message.id) is int:
        return message.id == exchange.key
    return normal_id(message.id) == exchange.key
