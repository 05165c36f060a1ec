"""One POST: asks for its permit, sends, reads the response, and maps each failure to an error."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohttp import ClientError

from bascule.core.errors import ProtocolViolation
from bascule.transports.http.body import Body
from bascule.transports.http.endpoint import UNSETTLED, Endpoint
from bascule.transports.http.errors import failure_of
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response import Received
from bascule.transports.http.response_head_cache import WholeReply

NOTIFY_TIMEOUT = 10.0
"""Seconds for a server to accept a notification or an answer of ours. Nothing is computed for it, so this is long."""

ExchangeT = TypeVar("ExchangeT", bound=Exchange)
T = TypeVar("T")


async def post(
    endpoint: Endpoint, exchange: ExchangeT, data: bytes, read: Callable[[Received, ExchangeT], Awaitable[T]]
) -> T:
    """Send a message, and give what `read` makes of the response."""
    exchange.begin()
    try:
        headers = exchange.request.headers
        received = await endpoint.post(data, exchange, headers)
        if not isinstance(received, WholeReply) and received.status in UNSETTLED:
            received = await endpoint.follow(received, Body(data, exchange), headers)
        exchange.taken_up = True
        try:
            return await read(received, exchange)
        except BaseException:
            if not isinstance(received, WholeReply):
                # Also the new era's way to say that we stopped waiting.
                received.close()
            raise
        finally:
            tally(received, exchange)
    except asyncio.CancelledError:
        if exchange.take_back():
            raise exchange.failure(endpoint.address) from None
        raise
    except (ClientError, OSError) as error:
        raise failure_of(error, exchange, endpoint.address) from error
    except ProtocolViolation as violation:
        violation.where = violation.where or endpoint.address
        raise
    finally:
        exchange.end()


def tally(received: Received, exchange: Exchange) -> None:
    """Tell how much came, whatever it was, if anybody counts."""
    if exchange.request.tally is not None:
        size = len(received.body) if isinstance(received, WholeReply) else received.content.total_bytes
        exchange.request.tally.add(size)
