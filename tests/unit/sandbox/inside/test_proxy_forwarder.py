"""The forwarder, between real sockets. It runs in a thread here, in a box as a process of its own."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bascule.sandbox.inside import proxy_forwarder
from bascule.sandbox.inside.proxy_forwarder import CONNECTIONS, Forwarder
from support.ports import free_port

PATIENCE = 10.0

LONGEST = 120.0
"""Seconds for a program of its own, on a machine that is busy with other things: only what hangs takes as long."""

Serving = Callable[[socket.socket], None]


def read_all(end: socket.socket) -> bytes:
    received = b""
    with suppress(ConnectionError):
        while data := end.recv(65536):
            received += data
    return received


def echo(end: socket.socket) -> None:
    while data := end.recv(65536):
        end.sendall(data)


@contextmanager
def listening(path: Path, serving: Serving = echo) -> Generator[list[socket.socket]]:
    """Somebody in the proxy's place."""
    ends: list[socket.socket] = []

    def serve(end: socket.socket) -> None:
        with suppress(OSError), end:
            serving(end)

    def accept() -> None:
        with suppress(OSError):
            while True:
                end, _ = server.accept()
                end.settimeout(PATIENCE)
                ends.append(end)
                threading.Thread(target=serve, args=(end,), daemon=True).start()

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(200)
        threading.Thread(target=accept, daemon=True).start()
        yield ends
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)


@contextmanager
def forwarding(path: Path) -> Generator[tuple[int, Forwarder]]:
    port = free_port()
    forwarder, over = Forwarder(port, str(path)), threading.Event()

    def turn() -> None:
        while not over.is_set():
            forwarder.turn(0.02)

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        yield port, forwarder
    finally:
        over.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        forwarder.close()


def called(port: int, host: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection((host, port), timeout=PATIENCE)


def asked(port: int, text: bytes) -> bytes:
    with called(port) as end:
        end.sendall(text)
        end.shutdown(socket.SHUT_WR)
        return read_all(end)


def test_what_is_sent_arrives_and_what_is_answered_comes_back(tmp_path: Path):
    with listening(tmp_path / "s"), forwarding(tmp_path / "s") as (port, _):
        assert asked(port, b"hello") == b"hello"


def test_much_is_carried_both_ways_at_once(tmp_path: Path):
    much = bytes(range(256)) * 40_000
    with listening(tmp_path / "s"), forwarding(tmp_path / "s") as (port, _), called(port) as end:
        sending = threading.Thread(target=lambda: (end.sendall(much), end.shutdown(socket.SHUT_WR)))
        sending.start()
        assert read_all(end) == much
        sending.join(PATIENCE)


def test_who_has_said_all_still_hears_the_answer(tmp_path: Path):
    def answer(end: socket.socket) -> None:
        end.sendall(b"heard " + read_all(end))

    with listening(tmp_path / "s", answer), forwarding(tmp_path / "s") as (port, _):
        assert asked(port, b"all of it") == b"heard all of it"


def test_who_has_heard_all_may_still_speak(tmp_path: Path):
    heard: list[bytes] = []
    done = threading.Event()

    def answer(end: socket.socket) -> None:
        end.sendall(b"no more from here")
        end.shutdown(socket.SHUT_WR)
        heard.append(read_all(end))
        done.set()

    with listening(tmp_path / "s", answer), forwarding(tmp_path / "s") as (port, _), called(port) as end:
        assert read_all(end) == b"no more from here"
        end.sendall(b"yet more from there")
        end.shutdown(socket.SHUT_WR)
        assert done.wait(PATIENCE)

    assert heard == [b"yet more from there"]


def test_an_answer_before_all_was_read_is_heard(tmp_path: Path):
    def refuse(end: socket.socket) -> None:
        end.recv(10)
        end.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with listening(tmp_path / "s", refuse), forwarding(tmp_path / "s") as (port, _):
        assert asked(port, b"x" * 100_000).startswith(b"HTTP/1.1 400")


def test_without_a_proxy_it_is_told_so(tmp_path: Path):
    with forwarding(tmp_path / "s") as (port, _):
        said = asked(port, b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")

    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"x-bascule-egress: no proxy" in head
    assert json.loads(body)["error"] == "no proxy"
    assert f"content-length: {len(body)}".encode() in head


def test_a_proxy_that_comes_back_is_found(tmp_path: Path):
    with forwarding(tmp_path / "s") as (port, _):
        with listening(tmp_path / "s"):
            assert asked(port, b"one") == b"one"
        assert asked(port, b"two").startswith(b"HTTP/1.1 503 ")
        (tmp_path / "s").unlink()
        with listening(tmp_path / "s"):
            assert asked(port, b"three") == b"three"


def test_whoever_hangs_up_in_the_middle_harms_nobody(tmp_path: Path, scale: int):
    with listening(tmp_path / "s"), forwarding(tmp_path / "s") as (port, forwarder):
        for number in range(50 * scale):
            with called(port) as end:
                end.sendall(b"x" * (number % 5) * 50_000)
                # Closed with a reset, and with what was not read.
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert asked(port, b"still here") == b"still here"
    assert not forwarder._connections


def test_a_proxy_that_hangs_up_in_the_middle_harms_nobody(tmp_path: Path):
    with listening(tmp_path / "s", lambda end: end.close()), forwarding(tmp_path / "s") as (port, _):
        for _ in range(20):
            assert asked(port, b"x" * 50_000) == b""


def test_who_comes_on_top_of_the_most_waits_until_one_has_ended(tmp_path: Path):
    with listening(tmp_path / "s") as reached, forwarding(tmp_path / "s") as (port, _):
        busy = [called(port) for _ in range(CONNECTIONS)]
        for end in busy:
            end.sendall(b"x")
            assert end.recv(1) == b"x"
        with called(port) as late:
            late.sendall(b"late")
            assert len(reached) == CONNECTIONS
            busy.pop().close()
            assert late.recv(4) == b"late"
        for end in busy:
            end.close()


def test_who_does_not_read_is_not_read_for(tmp_path: Path):
    """What waits is bounded, however much the other side has to say."""
    stuck = threading.Event()

    def flood(end: socket.socket) -> None:
        end.settimeout(0.3)
        with suppress(TimeoutError):
            for _ in range(10_000):
                end.sendall(b"x" * 65536)
        stuck.set()

    with listening(tmp_path / "s", flood), forwarding(tmp_path / "s") as (port, forwarder), called(port):
        assert stuck.wait(PATIENCE)
        [connection] = forwarder._connections
        assert len(connection.caller.waiting) <= 2 * proxy_forwarder.CHUNK


def test_who_was_told_all_and_stays_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(proxy_forwarder, "LINGERING", 0.05)
    with forwarding(tmp_path / "s") as (port, forwarder), called(port) as end:
        assert end.recv(10) == b"HTTP/1.1 5"
        while forwarder._connections:
            pass
        assert read_all(end)


@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_without_room_for_one_more_file_it_goes_on_later(tmp_path: Path, left: int):
    """In a process of its own, which is left with few files."""
    program = """
import resource, socket, sys
from bascule.sandbox.inside.proxy_forwarder import Forwarder
forwarder = Forwarder(0, sys.argv[1])
port = forwarder._listening[0].getsockname()[1]
callers = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
soft = len(callers) + len(forwarder._listening) + 3 + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
for _ in range(20):
    forwarder.turn(0.01)
assert len(forwarder._connections) == int(sys.argv[2]) // 2
for each in callers[:6]:
    each.close()
callers[-1].sendall(b"late")
callers[-1].setblocking(False)
while True:
    forwarder.turn(0.02)
    try:
        print(callers[-1].recv(9))
        break
    except BlockingIOError:
        pass
"""
    with listening(tmp_path / "s"):
        argv = [sys.executable, "-c", program, str(tmp_path / "s"), str(left)]
        said = subprocess.run(argv, capture_output=True, text=True, timeout=LONGEST, check=False)

    assert said.stdout == "b'late'\n", said.stderr


def test_it_runs_from_its_file_alone_and_says_when_it_listens(tmp_path: Path):
    port = free_port()
    program = "import sys; sys.path.insert(0, sys.argv[1]); import proxy_forwarder as forward; forward.serve(int(sys.argv[2]), sys.argv[3], ready=lambda: print('ready', flush=True))"
    argv = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        program,
        str(Path(proxy_forwarder.__file__).parent),
        str(port),
        str(tmp_path / "s"),
    ]
    with listening(tmp_path / "s"), subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            assert asked(port, b"hello") == b"hello"
            with suppress(OSError), called(port, "::1") as end:
                end.sendall(b"six")
                assert end.recv(3) == b"six"
        finally:
            process.kill()


def test_a_port_that_is_taken_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        proxy_forwarder.serve(int(taken.getsockname()[1]), "/nowhere")
