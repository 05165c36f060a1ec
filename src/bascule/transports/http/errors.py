"""What aiohttp raises, as our errors: whether the request may have left us is what matters most."""

from pathlib import Path

from aiohttp import (
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientError,
    ClientResponseError,
    ClientSSLError,
    InvalidURL,
    ServerDisconnectedError,
    ServerTimeoutError,
)
from aiohttp.client_exceptions import UnixClientConnectorError

from bascule.core.errors import BasculeError, ConnectFailed, ConnectionLost, PermitLost, ProtocolViolation
from bascule.transports.http.errors__tls_failure import tls_reason, tls_told
from bascule.transports.http.post_state import Exchange
from bascule.wire.jsonrpc import sample


def failure_of(error: ClientError | OSError, exchange: Exchange, where: str) -> BasculeError:
    """The error to raise in the place of aiohttp's."""
    if exchange.expired:
        return exchange.failure(where)
    if exchange.refused and not exchange.handed_over:
        return PermitLost("the agent session changed before the request was written", where=exchange.request.phase)
    match error:
        case ClientConnectorError() | InvalidURL():
            return not_connected(error, where)
        case ServerTimeoutError() if not exchange.handed_over:
            return not_connected(error, where)
        case ClientResponseError():
            return ProtocolViolation(
                f"{where} does not speak HTTP",
                where=where,
                evidence=sample(error.message.encode()),
                fix="check scheme, host and port of the URL",
            )
        case _:
            return ConnectionLost(
                f"the connection to {where} ended before the reply", sent=exchange.handed_over, evidence=told(error)
            )


def not_connected(error: ClientError | OSError, where: str) -> ConnectFailed:
    cause, fix = _reason(error)
    return ConnectFailed(f"no connection to {where}", where=where, evidence=told(error), cause=cause, fix=fix)


def _reason(error: ClientError | OSError) -> tuple[str, str]:
    if isinstance(error, UnixClientConnectorError):
        return _socket_reason(error)
    if isinstance(error, ClientSSLError):
        return tls_reason(error)
    if isinstance(error, ClientConnectorDNSError):
        return "the host name has no address", "check the host in the URL"
    return "nothing listens there, or the way is blocked", "check host and port of the URL, and that the server runs"


def _socket_reason(error: UnixClientConnectorError) -> tuple[str, str]:
    if isinstance(error.os_error, FileNotFoundError):
        return "there is no such socket file", "check the path in the URL, and that the server runs"
    if isinstance(error.os_error, PermissionError):
        return "we may not use that socket file", "give the user who runs Bascule the right to write to it"
    # To the kernel a file that is no socket is like a socket that nobody listens on.
    if not Path(error.path).is_socket():
        return "the path does not lead to a socket", "check the path in the URL"
    return "nobody listens on that socket file", "start the server: the file may be left over from its last run"


def told(error: ClientError | OSError) -> str:
    if isinstance(error, ServerDisconnectedError):
        return "the server closed the connection"
    if isinstance(error, ClientSSLError):
        return sample(tls_told(error).encode())
    return sample(f"{type(error).__name__}: {error}".encode())
