"""Retry of a request after its link, its permit or the lease was lost: only where repeating does no harm, and in the
time that is left."""

import asyncio
from collections.abc import Awaitable
from math import ceil
from time import perf_counter as now
from typing import TypeVar

import msgspec

from bascule.core.errors import (
    BasculeError,
    ConnectionLost,
    PeerError,
    ProtocolViolation,
    Refused,
    ReplyTimeout,
    StoreError,
)
from bascule.runtime.call_state import Trail
from bascule.runtime.prepared_call import Prepared, Rounds
from bascule.runtime.requests.operation import AnyOperation, Target
from bascule.runtime.session_context import Standing
from bascule.sensitivity.fence import HOLDS, Fence
from bascule.store.deadline import StoreWait
from bascule.upstream.link import Link
from bascule.upstream.state import LinkState

T = TypeVar("T")


def to_repeat(
    standing: Standing,
    operation: AnyOperation,
    target: Target,
    prepared: Prepared,
    trail: Trail,
    lost: tuple[Link, ConnectionLost | ProtocolViolation],
) -> Prepared:
    """The request to send again, which may have done its work. Raises what happened to it where that could do harm.

    Only tools are sent again. What reads a resource, fills in a prompt or completes an argument may do more than that,
    and an operator's setting speaks of none of them.
    """
    link, error = lost
    rounds = rounds_of(standing, prepared, trail)
    harmless = operation.of_tools and standing.may_repeat(target.spec)
    if not harmless or not _was_lost(link, error) or rounds.deadline <= now():
        raise error
    why = standing.mask_of(trail.server).text(error.message)
    finding = f"the link was lost under it ({why}); {trail.tool} may be sent again, and went round once more"
    trail.findings = (*trail.findings, finding)
    return msgspec.structs.replace(prepared, rounds=rounds)


def rounds_of(standing: Standing, prepared: Prepared, trail: Trail) -> Rounds:
    """How long all rounds of a request have together: as long as one has that is sent once."""
    if prepared.rounds is not None:
        return prepared.rounds
    limit = standing.limit_of(prepared)
    return Rounds(next(at for step, at in reversed(trail.steps.marks) if step == "lease") + limit, limit)


async def in_time(leasing: Awaitable[T], rounds: Rounds | None, lost: PeerError | None) -> T:
    """What is waited for before sending. A request that is sent for the first time has its time still before it."""
    if rounds is None:
        return await leasing
    try:
        async with asyncio.timeout(max(rounds.deadline - now(), 0)):
            return await leasing
    except TimeoutError:
        raise lost or _no_link(rounds) from None


async def look_again(
    fence: Fence, standing: Standing, epoch: int, prepared: Prepared, trail: Trail, lost: PeerError | None
) -> None:
    """Waits for the next poll of the store, within the time of the request, if a lapsed lease alone prevented each
    write. Any other request that is out of rounds ends here with its error."""
    if lost is not None or standing.ratchet.epoch != epoch:
        raise lost or not_sent(standing, epoch)
    try:
        async with asyncio.timeout(max(rounds_of(standing, prepared, trail).deadline - now(), 0)):
            await in_store_time(trail, fence.look_again())
    except TimeoutError:
        raise not_sent(standing, epoch) from None


def not_sent(standing: Standing, epoch: int) -> BasculeError:
    """Error of a request whose permit or lease was lost before the write in every round. `epoch` is that of its first
    round: if it still holds, the permit was valid all the time and only the lease can have lapsed."""
    if standing.ratchet.epoch != epoch:
        return Refused("the agent session kept changing before the call could be sent", rule="steady_session")
    return StoreError(
        "the lease of this runtime lapsed before the call could be sent",
        evidence=f"the level did not change; a lease is valid for {HOLDS:g} s from the start of a poll of the store",
        cause="this process or the store is under load, so that a poll or a write came too late",
        fix=f"call again in {ceil(HOLDS)} s, nothing was sent; if it happens often, send fewer calls at once",
        retry_after=ceil(HOLDS),
    )


async def in_store_time(trail: Trail, work: Awaitable[T]) -> T:
    """Waits for the store on behalf of a request. All such waits of one request share one deadline."""
    if trail.store_wait is None:
        trail.store_wait = StoreWait()
    async with trail.store_wait.limited():
        return await work


def _was_lost(link: Link, error: ConnectionLost | ProtocolViolation) -> bool:
    """Whether the connection ended by itself. What was closed on purpose is not opened again by what it ended; and a
    reply that cannot be read is one all the same, unless it was the last word on that connection."""
    if link.condition.state is LinkState.CLOSED:
        return False
    return isinstance(error, ConnectionLost) or not link.usable


def _no_link(rounds: Rounds) -> ReplyTimeout:
    return ReplyTimeout(
        f"the link was lost, and there was no other within the {rounds.limit:g} s of the request",
        phase="call",
        timeout=rounds.limit,
        fix="if the server is only slow to start, raise its `timeouts.call`",
    )
