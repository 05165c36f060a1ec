"""One HTTP request and its response, pinned to the address that the SSRF guard has checked, with limits on time and
size."""

import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from bascule.core.errors import BasculeError, ConnectFailed, ProtocolViolation, ReplyTimeout
from bascule.kit.connectors.http.source import HttpSource, Origin, origin_of
from bascule.kit.connectors.http.ssrf_guard import resolved
from bascule.kit.connectors.socket_deadline import Watch


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class RawReply:
    status: int
    headers: Mapping[str, str]
    body: bytes
    cut: bool


class _Pinned(http.client.HTTPConnection):
    """Connects to addresses, and is called by the name of the host."""

    def __init__(self, origin: Origin, addresses: tuple[str, ...], watch: Watch, seconds: float) -> None:
        super().__init__(origin.host, origin.port, timeout=seconds)
        self._origin = origin
        self._addresses = addresses
        self._watch = watch

    def connect(self) -> None:
        self.sock = self._reached()
        self._watch.over(self.sock.fileno())
        if self._origin.scheme == "https":
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self._origin.host)

    def _reached(self) -> socket.socket:
        failure: OSError = OSError("no address")
        for address in self._addresses:
            try:
                # No name goes in here: it would be looked up again, and could mean another address by now.
                return socket.create_connection((address, self._origin.port), timeout=self.timeout)
            except OSError as error:
                failure = error
        raise failure


def exchange(source: HttpSource, request: Request, until: float) -> RawReply:
    """`until` is a time of the monotonic clock. Redirects are the caller's business."""
    source.checked(request.url)
    parts = urlsplit(request.url)
    origin = origin_of(parts)
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise _late(source)
    addresses = resolved(origin.host, origin.port, seconds, allow_private=source.allow_private)
    with Watch(max(0.001, until - time.monotonic())) as watch:
        connection = _Pinned(origin, addresses, watch, seconds)
        failure: BasculeError
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request(request.method, target, request.body, dict(request.headers))
            return _read(connection.getresponse(), source.most_bytes, watch)
        except TimeoutError:
            failure = _late(source)
        except (OSError, http.client.HTTPException, ValueError) as error:
            failure = _late(source) if watch.fired else _told(source, error)
        finally:
            connection.close()
    raise failure


def _read(response: http.client.HTTPResponse, most: int, watch: Watch) -> RawReply:
    with response:
        body = response.read(most + 1)
        if watch.fired:
            # The end that was seen is ours, not the server's.
            raise TimeoutError
        headers = {name.lower(): value for name, value in response.getheaders()}
        length = headers.get("content-length", "")
        if length.isdigit() and len(body) < min(int(length), most + 1) and response.status != 304 and body:
            raise http.client.IncompleteRead(body)
        return RawReply(response.status, headers, body[:most], len(body) > most)


def _late(source: HttpSource) -> ReplyTimeout:
    return ReplyTimeout(
        f"{source.name} did not answer in {source.seconds:g} seconds", phase="call", timeout=source.seconds
    )


def _told(source: HttpSource, error: Exception) -> BasculeError:
    evidence = type(error).__name__
    if isinstance(error, OSError):
        return ConnectFailed(f"{source.name} cannot be reached", where=source.name, evidence=evidence)
    return ProtocolViolation(f"{source.name} sent what is no answer", where=source.name, evidence=evidence)
