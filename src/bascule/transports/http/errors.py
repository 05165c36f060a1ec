"""Mapping of aiohttp and TLS exceptions to errors of Bascule. Each one states if the request may have left."""

import ssl
from pathlib import Path

from aiohttp import (
    ClientConnectorCertificateError,
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
from bascule.transports.http.post_state import Exchange
from bascule.wire.jsonrpc import sample

_NOT_YET, _EXPIRED, _SELF_SIGNED, _SELF_SIGNED_ABOVE, _NO_ISSUER, _UNVERIFIED, _HOST, _ADDRESS = (
    *(9, 10, 18, 19, 20, 21),
    *(62, 64),
)
"""OpenSSL's numbers for what can be wrong with a certificate."""

TRUST = "if you trust it, name the file with its certificate in the variable SSL_CERT_FILE; else ask whoever runs it"
"""What to do about a certificate that is right, and signed by somebody who is not known here."""

_CERTIFICATE = {
    _EXPIRED: ("its certificate has expired", "renew the certificate of the server, or ask whoever runs it to"),
    _NOT_YET: ("its certificate is not good yet", "check the clock of this machine, then that of the server"),
    _SELF_SIGNED: ("its certificate is signed by nobody but itself", TRUST),
    _SELF_SIGNED_ABOVE: ("its certificate is signed by an authority that this machine does not know", TRUST),
    _NO_ISSUER: ("its certificate is signed by an authority that this machine does not know", TRUST),
    _UNVERIFIED: ("its certificate is signed by an authority that this machine does not know", TRUST),
    _HOST: ("its certificate is for another host name", "write a name into the URL that the certificate is for"),
    _ADDRESS: ("its certificate is not for this address", "write a name into the URL that the certificate is for"),
}

_OTHER = ("its certificate is not accepted", "check the certificate of the server")

_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL"})
"""What OpenSSL says of an answer that is no TLS at all."""


def tls_reason(error: ClientSSLError) -> tuple[str, str]:
    """Cause of a failed TLS connection, such as a wrong certificate or a server without TLS, and its fix."""
    reason = flaw_of(error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return certificate_flaw(reason)
    if getattr(reason, "reason", None) in _NO_TLS:
        return (
            "the server does not speak TLS at this port",
            "write http:// (or ws://) in the URL, or give the port for TLS",
        )
    return "the TLS handshake failed", "check the server's certificate, and that the URL's scheme is right"


def certificate_flaw(error: ssl.SSLCertVerificationError) -> tuple[str, str]:
    """What is wrong with a certificate, and what to do about it."""
    return _CERTIFICATE.get(error.verify_code, _OTHER)


def tls_told(error: ClientSSLError) -> str:
    """OpenSSL's own words, without the address around them."""
    reason = flaw_of(error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"TLS: {reason.verify_message} (OpenSSL {reason.verify_code})"
    return f"TLS: {getattr(reason, 'reason', None) or reason}"


def flaw_of(error: ClientSSLError) -> BaseException:
    """What went wrong below aiohttp."""
    if isinstance(error, ClientConnectorCertificateError):
        return error.certificate_error
    return getattr(error, "os_error", error)


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
