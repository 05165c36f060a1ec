"""Ways to make a connector reach what is not on the internet, or to send a password to somebody else."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from bascule.core.errors import BasculeError, UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import HttpConnector, HttpSource
from bascule.kit.connectors.http.ssrf_guard import is_public
from support.web_service import WebService, web_service

PUBLIC = DataSensitivity.PUBLIC
SECRET = "Bearer of the canary"

LOOPBACK_HOSTS = [
    "localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "127.0.0.1.", "2130706433",
    "0x7f000001", "0x7f.0.0.1", "0x7f.1", "017700000001", "0177.0.0.1", "0177.0.0.01", "00127.0.0.1", "0", "0.0.0.0", "0x0",
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "[::1%25lo]", "ip6-localhost",
    "127。0。0。1", "①②⑦.⓪.⓪.①", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "localhost\u3002", "%6c%6fcalhost", "127.0.0.1%00.example.com", "127.0.0.1\t",
    "example.com@127.0.0.1", "127.0.0.1#@example.com", "127.0.0.1\\@example.com", "example.com:80@127.0.0.1",
]  # fmt: skip

CLOSED_ADDRESSES = [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.8.8.8", "168.63.129.16", "169.254.169.254",
    "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
    "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::1",
    "2002:808:808::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "3fff::1",
    "", "example.com", "127.1", "2130706433", "0x7f000001",
]  # fmt: skip

OPEN_ADDRESSES = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.fixture
def canary() -> Iterator[WebService]:
    with web_service() as service:
        service.answers["/"] = (200, {}, b"the canary sings")
        yield service


@pytest.mark.parametrize("host", LOOPBACK_HOSTS)
def test_no_way_to_write_loopback_reaches_it(canary: WebService, host: str):
    """Although the source itself names that host: what counts is where it leads."""
    with suppress(TypeError, BasculeError):
        source = HttpSource("s", f"http://{host}:{canary.port}", PUBLIC, seconds=3)
        HttpConnector.get(source, "/")
    with suppress(TypeError, BasculeError):
        source = HttpSource(
            "s", "http://example.invalid", PUBLIC, hosts=frozenset([host, f"{host}:{canary.port}"]), seconds=3
        )
        HttpConnector.get(source, f"http://{host}:{canary.port}/")
    assert canary.connections == 0


def test_the_canary_can_be_reached_by_who_is_allowed_to(canary: WebService):
    assert HttpConnector.get(HttpSource("s", canary.url, PUBLIC, allow_private=True), "/").text == "the canary sings"
    assert canary.connections == 1


@pytest.mark.parametrize("address", CLOSED_ADDRESSES)
def test_what_is_not_of_the_internet_is_not_public(address: str):
    assert not is_public(address)


@pytest.mark.parametrize("address", OPEN_ADDRESSES)
def test_what_is_of_the_internet_is_public(address: str):
    assert is_public(address)


class Resolver:
    """Answers each look-up with the next of what it was given, as who plays with a name does."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, host: str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answer]


def test_a_name_that_is_looked_up_twice_cannot_change_in_between(canary: WebService, monkeypatch: pytest.MonkeyPatch):
    resolver = Resolver(["8.8.8.8"], ["127.0.0.1"])
    connected: list[tuple[str, int]] = []

    def connect(address: tuple[str, int], timeout: float) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(BasculeError, match="cannot be reached"):
        HttpConnector.get(HttpSource("s", f"http://rebind.test:{canary.port}", PUBLIC), "/")
    assert resolver.asked == 1
    assert connected == [("8.8.8.8", canary.port)]


@pytest.mark.parametrize("answer", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"]])
def test_a_name_that_leads_inside_is_refused_even_if_it_also_leads_outside(
    canary: WebService, monkeypatch: pytest.MonkeyPatch, answer: list[str]
):
    monkeypatch.setattr(socket, "getaddrinfo", Resolver(answer))
    with pytest.raises(UsageError, match="not on the internet"):
        HttpConnector.get(HttpSource("s", f"http://rebind.test:{canary.port}", PUBLIC), "/")
    assert canary.connections == 0


TARGETS = ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "//127.0.0.1:{port}/", "http://[::1]:{port}/", "file:///etc/passwd",
           "http://trusted.test@127.0.0.1:{port}/", "ftp://127.0.0.1:{port}/", "http:127.0.0.1:{port}", "/\\127.0.0.1:{port}/",
           "http://127.0.0.1:{port}\\@trusted.test/", "\r\nHost: 127.0.0.1", "gopher://127.0.0.1:{port}/_x"]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_a_redirect_leads_nowhere_that_could_not_be_asked(canary: WebService, target: str):
    with web_service() as trusted:
        trusted.answers["/go"] = (302, {"Location": target.format(port=canary.port)}, b"")
        with suppress(BasculeError):
            HttpConnector.get(
                HttpSource("s", trusted.url, PUBLIC, headers={"Authorization": SECRET}, allow_private=True), "/go"
            )
        assert canary.connections == 0


@pytest.mark.parametrize("target", TARGETS)
def test_a_path_leads_nowhere_that_could_not_be_asked(canary: WebService, target: str):
    with web_service() as trusted:
        with suppress(BasculeError):
            HttpConnector.get(HttpSource("s", trusted.url, PUBLIC, allow_private=True), target.format(port=canary.port))
        assert canary.connections == 0


def test_a_redirect_from_outside_to_inside_is_looked_at_again(canary: WebService, monkeypatch: pytest.MonkeyPatch):
    """The host is allowed, the address it leads to is not."""
    monkeypatch.setattr(socket, "getaddrinfo", Resolver(["8.8.8.8"], ["127.0.0.1"]))
    with web_service() as trusted:
        trusted.answers["/go"] = (302, {"Location": f"http://other.test:{canary.port}/"}, b"")
        real = socket.create_connection
        monkeypatch.setattr(
            socket, "create_connection", lambda address, timeout: real(("127.0.0.1", trusted.port), timeout)
        )
        source = HttpSource(
            "s", f"http://trusted.test:{trusted.port}", PUBLIC, hosts=frozenset([f"other.test:{canary.port}"])
        )
        with pytest.raises(UsageError, match="not on the internet"):
            HttpConnector.get(source, "/go")
    assert canary.connections == 0


def test_no_other_host_learns_the_password(canary: WebService):
    """Not by a redirect, and not when it is asked for by its whole address, although it may be asked."""
    with web_service() as trusted:
        trusted.answers["/go"] = (302, {"Location": f"{canary.url}/"}, b"")
        source = HttpSource(
            "s", trusted.url, PUBLIC, hosts=frozenset([f"127.0.0.1:{canary.port}"]), headers={"Authorization": SECRET, "X-Key": SECRET}, allow_private=True
        )  # fmt: skip
        assert HttpConnector.get(source, "/go").text == "the canary sings"
        assert HttpConnector.get(source, f"{canary.url}/").text == "the canary sings"
        assert trusted.asked[0][2]["authorization"] == SECRET
    assert len(canary.asked) == 2
    assert SECRET not in repr(canary.asked)


@pytest.mark.parametrize(
    "path",
    ["../admin", "a/../../admin", "%2e%2e/admin", "a/%2e%2e%2fadmin", "a/..;/admin", "%252e%252e/x", "a\\..\\b", "./x"],
)
def test_a_path_does_not_climb_above_the_base(path: str):
    with web_service() as trusted:
        with pytest.raises(UsageError):
            HttpConnector.get(HttpSource("s", f"{trusted.url}/api/v1", PUBLIC, allow_private=True), path)
        assert trusted.asked == []


@pytest.mark.parametrize("path", ["a\r\nX: y", "a b", "a\nGET /admin", "a\x00", "a#b", "ä"])
def test_a_path_is_one_line_of_plain_letters(path: str):
    with web_service() as trusted:
        with pytest.raises(UsageError):
            HttpConnector.get(HttpSource("s", trusted.url, PUBLIC, allow_private=True), path)
        assert trusted.asked == []
