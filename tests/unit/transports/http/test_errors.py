import asyncio
import errno
import os
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientConnectorDNSError, ClientConnectorSSLError, ClientOSError, InvalidURL
from aiohttp.client_exceptions import UnixClientConnectorError
from aiohttp.client_reqrep import ConnectionKey

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerError, ProtocolViolation, ReplyTimeout
from bascule.transports.http.errors import TRUST, failure_of, tls_reason, tls_told
from bascule.transports.http.post_state import Exchange
from support.certificates import authority, self_signed
from support.guarded import guarded
from support.http_links import LONG, ask, http_link
from support.http_servers import Asked, http_reply, raw_server, result_body, socket_file
from support.waiting import fail_after

KEY = ConnectionKey("h.test", 80, False, True, None, None, None)


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@asynccontextmanager
async def talker(words: bytes) -> AsyncGenerator[str]:
    """A server that says something as soon as it hears something, then hangs up."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(words)
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp"


async def failure(url: str) -> PeerError:
    async with fail_after(LONG), http_link(url) as link:
        with pytest.raises(PeerError) as failed:
            await link.send(ask())
        assert not link.lost.done()
        return failed.value


async def test_a_port_where_nothing_listens_is_a_failure_to_connect():
    error = await failure(f"http://127.0.0.1:{closed_port()}/mcp?key=secret")

    assert isinstance(error, ConnectFailed)
    assert not error.sent
    assert "ClientConnectorError" in error.evidence
    assert error.fix
    assert "secret" not in f"{error.message}{error.evidence}{error.where}"


async def unreachable(path: Path) -> ConnectFailed:
    """Why a socket file cannot be used."""
    async with fail_after(LONG), http_link("http://localhost/mcp?key=secret", socket=str(path)) as link:
        with pytest.raises(ConnectFailed) as failed:
            await link.send(ask())
    assert failed.value.message == f"no connection to unix://{path}:/mcp?…"
    assert failed.value.fix
    assert "secret" not in f"{failed.value.message}{failed.value.evidence}{failed.value.where}"
    return failed.value


async def test_a_socket_file_that_is_not_there_is_told_as_that():
    with socket_file() as path:
        assert (await unreachable(Path(path))).cause == "there is no such socket file"


async def test_a_file_that_is_no_socket_is_told_as_that():
    with socket_file() as path:
        Path(path).write_text("not a socket")
        assert (await unreachable(Path(path))).cause == "the path does not lead to a socket"
        assert (await unreachable(Path(path).parent)).cause == "the path does not lead to a socket"


async def test_a_socket_file_on_which_nobody_listens_is_told_as_that():
    with socket_file() as path:
        with socket.socket(socket.AF_UNIX) as left_over:
            left_over.bind(path)
        assert (await unreachable(Path(path))).cause == "nobody listens on that socket file"


def test_a_socket_file_that_we_may_not_use_is_told_as_that():
    # Whoever runs the tests may be allowed everything, so this one is not tried on a real file.
    refused = UnixClientConnectorError("/s", KEY, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    error = failure_of(refused, exchange_of(), "w")

    assert isinstance(error, ConnectFailed)
    assert error.cause == "we may not use that socket file"


async def test_tls_where_none_is_spoken_is_a_failure_to_connect():
    async with talker(b"HTTP/1.1 400 Bad Request\r\n\r\n") as url:
        error = await failure(url.replace("http:", "https:"))

    assert isinstance(error, ConnectFailed)
    assert error.cause == "the server does not speak TLS at this port"


def exchange_of() -> Exchange:
    return Exchange(ask(), 1, 1.0, lambda _: None)


def test_a_name_without_an_address_is_a_failure_to_connect():
    error = failure_of(ClientConnectorDNSError(KEY, OSError(-2, "Name or service not known")), exchange_of(), "w")

    assert isinstance(error, ConnectFailed)
    assert error.cause == "the host name has no address"


def test_a_name_that_cannot_be_one_is_a_failure_to_connect():
    assert isinstance(failure_of(InvalidURL("http://a..b"), exchange_of(), "w"), ConnectFailed)


@pytest.mark.parametrize("handed_over", [True, False])
def test_a_broken_connection_tells_whether_the_request_may_have_left(handed_over: bool):
    exchange = exchange_of()
    exchange.handed_over = handed_over
    error = failure_of(ClientOSError(104, "reset"), exchange, "w")

    assert isinstance(error, ConnectionLost)
    assert error.sent is handed_over


def test_a_failure_after_the_time_was_up_is_told_as_the_end_of_the_time():
    exchange = exchange_of()
    exchange.handed_over = exchange.expired = True

    assert isinstance(failure_of(ClientOSError(104, "reset"), exchange, "w"), ReplyTimeout)


async def test_a_server_that_hangs_up_without_a_reply_may_have_acted():
    error = await failure_url(b"")

    assert isinstance(error, ConnectionLost)
    assert error.sent


async def failure_url(words: bytes) -> PeerError:
    async with talker(words) as url:
        return await failure(url)


async def test_a_server_that_does_not_speak_http_violates_the_protocol():
    error = await failure_url(b"220 smtp.test ESMTP\r\n")

    assert isinstance(error, ProtocolViolation)
    assert "does not speak HTTP" in error.message


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "words",
    [
        HEAD + b"Content-Length: 100\r\n\r\n{",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n{",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        HEAD + b"Content-Length: 1, 2\r\n\r\n{}",
        HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
        HEAD + b"Content-Length: \xc2\xb2\r\n\r\n{}",
        HEAD + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
        HEAD + b"X: y\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nBad Header\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"\0" * 1000,
    ],
    ids=["cut", "cut chunk", "bad chunk", "negative chunk", "two lengths", "list of lengths", "huge length", "odd digit", "long header", "many headers",
         "no colon", "version", "status", "tls", "nul"],
)  # fmt: skip
async def test_whatever_bytes_come_back_the_failure_is_one_of_ours(words: bytes):
    error = await failure_url(words)

    assert isinstance(error, ConnectionLost | ProtocolViolation)
    assert error.sent


async def test_a_kept_connection_that_the_server_closes_is_not_used_for_a_second_try():
    async def once(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if len(server.asked) == 1:
            writer.write(http_reply(result_body(asked.id, {})))
        else:
            writer.transport.abort()

    async with fail_after(LONG), raw_server(once) as server, http_link(server.url) as link:
        await link.send(ask())
        with pytest.raises(ConnectionLost) as lost:
            await link.send(ask())

        assert lost.value.sent
        assert len(server.asked) == 2


TLS_KEY = ConnectionKey("h.test", 443, True, True, None, None, None)


async def tls_failure(context: ssl.SSLContext, host: str = "localhost") -> ConnectFailed:
    async with fail_after(LONG), guarded(context) as url, http_link(url.replace("localhost", host)) as link:
        with pytest.raises(ConnectFailed) as failed:
            await link.send(ask())
        return failed.value


async def test_a_certificate_that_only_signed_itself_can_be_trusted_by_a_variable(tmp_path: Path):
    error = await tls_failure(self_signed(tmp_path / "own.pem"))

    assert error.cause == "its certificate is signed by nobody but itself"
    assert "self-signed certificate" in error.evidence.replace("self signed", "self-signed")
    assert error.fix == TRUST


async def test_an_authority_that_is_not_known_is_told_from_that(tmp_path: Path):
    error = await tls_failure(authority(tmp_path).server())

    assert error.cause == "its certificate is signed by an authority that this machine does not know"


def error_of(reason: ssl.SSLError) -> ClientConnectorSSLError:
    return ClientConnectorSSLError(TLS_KEY, reason)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (9, "not good yet"),
        (10, "has expired"),
        (62, "another host name"),
        (64, "not for this address"),
        (23, "not acc"),
    ],
)
def test_every_flaw_has_its_words(code: int, words: str):
    flaw = ssl.SSLCertVerificationError(1, "no")
    flaw.verify_code, flaw.verify_message = code, "why"
    cause, fix = tls_reason(error_of(flaw))

    assert words in cause
    assert fix
    assert tls_told(error_of(flaw)) == f"TLS: why (OpenSSL {code})"


def test_what_has_nothing_to_do_with_a_certificate_says_so():
    plain = ssl.SSLError(1, "x")
    plain.reason = "WRONG_VERSION_NUMBER"

    assert tls_reason(error_of(plain))[0] == "the server does not speak TLS at this port"
    assert tls_told(error_of(plain)) == "TLS: WRONG_VERSION_NUMBER"
    assert tls_reason(error_of(ssl.SSLError(1, "x")))[0] == "the TLS handshake failed"
