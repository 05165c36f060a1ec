import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from bascule.core.errors import ConnectFailed, ProtocolViolation, ReplyTimeout, UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import HttpSource
from bascule.kit.connectors.http.exchange import RawReply, Request, exchange
from support.ports import free_port
from support.web_service import web_service


def ask(url: str, path: str = "/", *, seconds: float = 5, most: int = 1000) -> RawReply:
    source = HttpSource("api", url, DataSensitivity.PUBLIC, allow_private=True, seconds=seconds, most_bytes=most)
    return exchange(source, Request("GET", url + path, {}), time.monotonic() + seconds)


@pytest.fixture
def spoken() -> Iterator[tuple[str, list[bytes]]]:
    """A server that says what is in the list, whatever it is asked, and then falls silent."""
    words: list[bytes] = []
    done = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = listening.accept()
        # Who has heard enough hangs up.
        with client, suppress(ConnectionError):
            client.recv(65536)
            for word in words:
                client.sendall(word)
            if words[-1:] != [b""]:
                done.wait(30)

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}", words
    done.set()
    socket.create_connection(listening.getsockname()).close()
    thread.join()
    listening.close()


def test_a_reply_has_its_status_headers_and_body():
    with web_service() as service:
        service.answers["/"] = (201, {"X-One": "1"}, b"hello")
        reply = ask(service.url)
    assert (reply.status, reply.headers["x-one"], reply.body, reply.cut) == (201, "1", b"hello", False)


def test_more_than_may_be_is_cut():
    with web_service() as service:
        service.answers["/"] = (200, {}, b"x" * 5000)
        reply = ask(service.url, most=10)
    assert (reply.body, reply.cut) == (b"x" * 10, True)


def test_who_never_answers_is_hung_up_on():
    with web_service() as service, pytest.raises(ReplyTimeout, match=r"0\.1 seconds"):
        ask(service.url, "/silent", seconds=0.1)


@pytest.mark.parametrize(
    "words",
    [[b"HTTP/1.1 200 OK\r\n"], [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"], [b"HTTP/1.1 100 Continue\r\n\r\n"] * 50,
     [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"]],
)  # fmt: skip
def test_who_begins_to_answer_and_stops_is_hung_up_on(spoken: tuple[str, list[bytes]], words: list[bytes]):
    url, said = spoken
    said.extend(words)
    with pytest.raises(ReplyTimeout):
        ask(url, seconds=0.2)


@pytest.mark.parametrize(
    "word", [b"SSH-2.0-x\r\n", b"HTTP/1.1 two OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
             b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 70000 + b"\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"]
)  # fmt: skip
def test_what_is_no_answer_is_told_as_that(spoken: tuple[str, list[bytes]], word: bytes):
    url, said = spoken
    said.extend([word, b""])
    with pytest.raises(ProtocolViolation, match="no answer"):
        ask(url)


def test_who_hangs_up_or_is_not_there_cannot_be_reached(spoken: tuple[str, list[bytes]]):
    url, said = spoken
    said.append(b"")
    with pytest.raises((ConnectFailed, ProtocolViolation)):
        ask(url)
    port = free_port()
    with pytest.raises(ConnectFailed, match="cannot be reached"):
        ask(f"http://127.0.0.1:{port}")


def test_who_speaks_no_tls_is_not_believed(spoken: tuple[str, list[bytes]]):
    url, said = spoken
    said.extend([b"HTTP/1.1 200 OK\r\n\r\n", b""])
    with pytest.raises(ConnectFailed):
        ask(url.replace("http:", "https:"))


def test_the_address_is_looked_at_here_too_and_time_that_is_up_is_up():
    source = HttpSource("api", "http://a.test", DataSensitivity.PUBLIC)
    with pytest.raises(UsageError, match="may not be asked"):
        exchange(source, Request("GET", "http://b.test/", {}), time.monotonic() + 5)
    with pytest.raises(ReplyTimeout):
        exchange(source, Request("GET", "http://a.test/", {}), time.monotonic() - 1)
