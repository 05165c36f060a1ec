"""Negotiation of the protocol version with a server of either era, without knowing which it is."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from bascule.core.errors import ConnectFailed, ConnectionLost, LoginNeeded, PeerError, PeerRefused, ReplyTimeout
from bascule.core.json_types import JsonObject
from bascule.core.request import Request
from bascule.transports.dispatcher import Dispatcher
from bascule.upstream.era_detection import (
    is_new_era_refusal,
    read_discovery,
    read_handshake,
    speaks_no_version_of_ours,
    version_to_try,
)
from bascule.upstream.settings import Agreement, Era, Terms
from bascule.wire.request_meta import NEW_VERSIONS, OLD_VERSIONS, UNSUPPORTED_VERSION, new_stamp

T = TypeVar("T")
Probe = asyncio.Task[JsonObject]


class ProbeKilled(ConnectionLost):
    """The server died of the question in the new era's words. One made anew and asked in the old words may live."""


class WayRefused(ConnectFailed):
    """HTTP itself turned the handshake away, without a word of the protocol. Another way may lead in."""


TURNED_AWAY = frozenset({400, 404, 405})
"""Statuses with which a server that only speaks HTTP+SSE answers a POST to its event stream."""


async def negotiate(dispatcher: Dispatcher, terms: Terms, era: Era) -> Agreement:
    """Agree within the caller's deadline. With `auto` the new era is asked for first; anything but clear evidence of it
    leads to the old handshake. Raises `ProbeKilled` where asking itself ended the link, `WayRefused` where nobody spoke
    the protocol at all."""
    if era == "old":
        try:
            return await _handshake(dispatcher, terms)
        except PeerRefused as error:
            raise _refused_handshake(error) from error
    probe = _start(_discover(dispatcher, terms, NEW_VERSIONS[-1]))
    try:
        agreement = await (_only_new(probe) if era == "new" else _either(dispatcher, terms, probe))
    finally:
        probe.cancel()
    dispatcher.adopt(agreement.version)
    return agreement


async def _only_new(probe: Probe) -> Agreement:
    evidence = ""
    try:
        agreement = read_discovery(await probe)
    except PeerRefused as error:
        agreement, evidence = None, f"the server says: {error.message} ({error.rpc_code})"[:400]
    if agreement is None:
        raise ConnectFailed(
            "the server does not offer the new era, which `era: new` asks for",
            evidence=evidence,
            fix="set `era: auto` for this server",
        )
    return agreement


async def _either(dispatcher: Dispatcher, terms: Terms, probe: Probe) -> Agreement:
    await asyncio.wait((probe,), timeout=terms.probe)
    if probe.done():
        agreement = await _read_probe(dispatcher, terms, probe)
        return agreement or await _after_failed_probe(dispatcher, terms)
    # Silence: an old server that ignores what it does not know, or one that is still starting. The handshake goes out
    # beside the probe, and whichever is answered first decides.
    handshake = _start(_after_failed_probe(dispatcher, terms))
    try:
        await asyncio.wait((probe, handshake), return_when=asyncio.FIRST_COMPLETED)
        if not probe.done() and _shows_new_era(handshake):
            # The server was not silent for want of an answer: a login, say, may hold up the probe.
            await asyncio.wait((probe,))
        # Both may be answered in the same moment: what the probe found counts, even if the handshake was refused.
        if probe.done():
            agreement = await _read_probe(dispatcher, terms, probe)
            if agreement is not None:
                return agreement
        return await handshake
    finally:
        handshake.cancel()


async def _read_probe(dispatcher: Dispatcher, terms: Terms, probe: Probe) -> Agreement | None:
    """What the probe's answer means. None is the old era."""
    try:
        return read_discovery(await probe)
    except PeerRefused as error:
        if not is_new_era_refusal(error):
            return None
        if error.rpc_code != UNSUPPORTED_VERSION or speaks_no_version_of_ours(error):
            # Only the new era refuses like this, so the old handshake would be no use.
            raise _refused_probe(error) from error
        version = version_to_try(error)
        return read_discovery(await _discover(dispatcher, terms, version)) if version is not None else None
    except ConnectionLost as error:
        raise _killed(error) from error
    except (LoginNeeded, ConnectFailed):
        # Who we are, and whether anyone is there, says nothing about the era.
        raise
    except PeerError:
        return None


async def _after_failed_probe(dispatcher: Dispatcher, terms: Terms) -> Agreement:
    try:
        return await _handshake(dispatcher, terms)
    except ConnectionLost as error:
        raise _killed(error) from error
    except PeerRefused as error:
        # A slow server can settle on the new era by our probe, after we stopped waiting for its answer.
        version = version_to_try(error) if error.rpc_code == UNSUPPORTED_VERSION else None
        agreement = read_discovery(await _discover(dispatcher, terms, version)) if version is not None else None
        if agreement is None:
            raise _refused_handshake(error) from error
        return agreement


async def _discover(dispatcher: Dispatcher, terms: Terms, version: str) -> JsonObject:
    stamp = new_stamp(version, terms.client_info, terms.capabilities)
    method = "server/discover"
    headers = stamp.headers(method, None)
    return await dispatcher.send(
        Request(
            method, {"_meta": stamp.envelope}, terms.connect, phase="probe", headers=headers, cancel_on_abandon=False
        )
    )


async def _handshake(dispatcher: Dispatcher, terms: Terms) -> Agreement:
    params: JsonObject = {
        "protocolVersion": OLD_VERSIONS[-1],
        "capabilities": dict(terms.offered),
        "clientInfo": dict(terms.client_info),
    }
    try:
        result = await dispatcher.send(
            Request("initialize", params, terms.connect, phase="connect", cancel_on_abandon=False)
        )
    except ReplyTimeout as error:
        raise never_answered(dispatcher.kind, terms.connect) from error
    agreement = read_handshake(result)
    dispatcher.adopt(agreement.version)
    await dispatcher.notify("notifications/initialized")
    return agreement


def _start(asking: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A question whose answer may turn out not to matter: then its failure must not be reported as forgotten."""
    task = asyncio.create_task(asking)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def _shows_new_era(handshake: asyncio.Task[Agreement]) -> bool:
    """Whether the old handshake was refused as only a server of the new era would."""
    error = handshake.exception()
    cause = error.__cause__ if error is not None else None
    return isinstance(cause, PeerRefused) and is_new_era_refusal(cause)


def _killed(error: ConnectionLost) -> ProbeKilled:
    return ProbeKilled(error.message, sent=error.sent, evidence=error.evidence, cause=error.cause, fix=error.fix)


def never_answered(kind: str, limit: float) -> ReplyTimeout:
    """A silence, with its likely cause by the kind of transport."""
    look = "check that the URL is that of an MCP server"
    error = ReplyTimeout(f"the server did not answer within {limit:g} s", phase="connect", timeout=limit)
    if kind in {"stdio", "docker exec"}:
        look = "run its command in a terminal to see what it waits for"
        error.cause = (
            "it is still starting, it waits for something, or it reads only messages framed with `Content-Length`, "
            "which MCP does not use and we never send unasked"
        )
    error.fix = f"{look}; if it is only slow, raise `timeouts.connect`"
    return error


def _refused_handshake(error: PeerRefused) -> ConnectFailed:
    status = f"HTTP {error.status}, " if error.status is not None else ""
    kind = WayRefused if error.status in TURNED_AWAY and error.rpc_code == 0 else ConnectFailed
    return kind(
        f"the server refused to start a session: {error.message}",
        where="initialize",
        evidence=f"{status}error {error.rpc_code}",
        fix=error.fix or "check that this is an MCP server, and that its version is not older than 2024-11-05",
    )


def _refused_probe(error: PeerRefused) -> ConnectFailed:
    if error.rpc_code == UNSUPPORTED_VERSION:
        message, fix = "the server and Bascule share no protocol version", "update the older of the two"
    else:
        message, fix = f"the server refused to be asked what it is: {error.message}", "update the server, or Bascule"
    evidence = f"error {error.rpc_code}: {error.message} {error.data or ''}".strip()
    return ConnectFailed(message, where="server/discover", evidence=evidence[:400], fix=fix)
