"""Responses that were read but have not ended: kept for a moment, so that their connections can be used again."""

import asyncio

from bascule.transports.http.response import Response

MOMENT = 1.0
"""Seconds a stream may stay open behind its reply. A server ends it in the same breath, or not at all."""

MOST = 32
"""Responses kept at once. Each holds a socket."""


class Linger:
    """The open ends of one link's finished requests. When an end comes in time, aiohttp takes the connection back."""

    def __init__(self) -> None:
        self._timers: dict[Response, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._timers)

    def keep(self, response: Response) -> None:
        if response.closed:
            return
        if len(self._timers) >= MOST:
            response.close()
            return
        self._timers[response] = asyncio.get_running_loop().call_later(MOMENT, self._end, response)
        response.content.on_eof(lambda: self._forget(response))

    def close(self) -> None:
        for response in [*self._timers]:
            self._forget(response)
            response.close()

    def _end(self, response: Response) -> None:
        self._forget(response)
        response.close()

    def _forget(self, response: Response) -> None:
        timer = self._timers.pop(response, None)
        if timer is not None:
            timer.cancel()
