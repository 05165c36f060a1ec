"""One POST, from asking for leave to reading what came of it, with whatever goes wrong told in our errors."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohttp import ClientError

from bascule.core.errors import ProtocolViolation
from bascule.transports.http_body import Body
from bascule.transports.http_endpoint import UNSETTLED, Endpoint
from bascule.transports.http_exchange import Exchange
from bascule.transports.http_failure import failure_of
from bascule.transports.http_response import Response

NOTIFY_TIMEOUT = 10.0
"""Seconds for a server to accept a notification or an answer of ours. Nothing is computed for it, so this is long."""

ExchangeT = TypeVar("ExchangeT", bound=Exchange)
T = TypeVar("T")


async def post(
    endpoint: Endpoint, exchange: ExchangeT, data: bytes, read: Callable[[Response, ExchangeT], Awaitable[T]]
) -> T:
    """Send a message, and give what `read` makes of the response."""
    exchange.begin()
    try:
        headers = exchange.request.headers
        response = await endpoint.post(data, exchange, headers)
        if response.status in UNSETTLED:
            response = await endpoint.follow(response, Body(data, exchange), headers)
        exchange.taken_up = True
        try:
            return await read(response, exchange)
        except BaseException:
            # Also the new era's way to say that we stopped waiting.
            response.close()
            raise
        finally:
            tally(response, exchange)
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


def tally(response: Response, exchange: Exchange) -> None:
    """Tell how much came, whatever it was, if anybody counts."""
    if exchange.request.tally is not None:
        exchange.request.tally.add(response.content.total_bytes)
