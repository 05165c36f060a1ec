"""Requests that are written so that the proxy reads one thing and somebody else another."""

import pytest

from support.asking import Answer, ask, calling, get
from support.internet import ALLOWED, WILD
from support.way_out import WayOut


def answered(answer: Answer | None) -> tuple[int, str]:
    return (answer.status, answer.refused) if answer else (0, "closed")


def hosts(asked: list[dict[str, list[str]]]) -> set[str]:
    return {line.partition(": ")[2] for each in asked for line in each["head"][1:] if line.lower().startswith("host:")}


def test_who_is_asked_is_who_the_url_names_and_not_the_header(out: WayOut):
    with out.reaching():
        assert answered(ask(out.path, "GET http://denied.test/ HTTP/1.1", "Host: allowed.test")) == (403, "host")
    with out.reaching(ALLOWED) as asked:
        assert answered(ask(out.path, "GET http://allowed.test/ HTTP/1.1", "Host: denied.test")) == (200, "")

    # The header is made to say the same, so the host does not serve another either.
    assert hosts(asked) == {"allowed.test"}


def test_who_is_connected_is_who_the_tunnel_names_and_not_the_header(out: WayOut):
    with out.reaching():
        assert answered(ask(out.path, "CONNECT denied.test:443 HTTP/1.1", "Host: allowed.test:443"))[0] == 403
    with out.reaching(ALLOWED):
        assert answered(ask(out.path, "CONNECT allowed.test:443 HTTP/1.1", "Host: denied.test:443"))[0] in {
            200,
            400,
            403,
        }


@pytest.mark.parametrize(
    "target",
    [
        "http://allowed.test@denied.test/", "http://allowed.test:80@denied.test/", "http://allowed.test:80@denied.test:80/",
        "http://user:password@denied.test/", "http://allowed.test%40denied.test/", "http://denied.test#@allowed.test/",
        "http://denied.test?@allowed.test/", "http://denied.test/@allowed.test/", "http://denied.test\\@allowed.test/",
        "http://denied.test\\.wild.test/", "http://denied.test%2f.wild.test/", "http://[allowed.test]/", "http:\\\\denied.test/",
        "//denied.test/", "http:/denied.test/", "http:denied.test/", "http:///denied.test/", "http://", "HTTP://denied.test/",
        "http://denied.test:80:80/", "http:// denied.test/", "http://allowed.test denied.test/", "denied.test", "*",
    ],
)  # fmt: skip
def test_no_way_to_write_a_url_reaches_another(out: WayOut, target: str):
    with out.reaching():
        for host in ("denied.test", ""):
            status, reason = answered(ask(out.path, f"GET {target} HTTP/1.1", f"Host: {host}"))
            assert status in {0, 400, 403, 404}, (status, reason)


@pytest.mark.parametrize(
    "target", ["http://denied.test@allowed.test/", "http://x:y@allowed.test/", "/@denied.test", "//denied.test/"]
)
def test_what_is_read_as_a_host_that_is_listed_goes_there_or_nowhere(out: WayOut, target: str):
    with out.reaching(ALLOWED) as asked:
        ask(out.path, f"GET {target} HTTP/1.1", "Host: allowed.test")

    assert hosts(asked) <= {"allowed.test"}


@pytest.mark.parametrize("scheme", ["https", "ws", "wss", "ftp", "file", "gopher", "unix", "HTTPS", "xhttp"])
def test_nothing_but_http_is_asked_for_in_the_clear(out: WayOut, scheme: str):
    with out.reaching():
        for host in ("allowed.test", "denied.test"):
            status, reason = answered(ask(out.path, f"GET {scheme}://{host}/ HTTP/1.1", f"Host: {host}"))
            assert status in {0, 400, 403}, (status, reason)


@pytest.mark.parametrize(
    "target",
    [
        "denied.test:443", "http://denied.test:443", "http://denied.test:443/", "//denied.test:443", "denied.test:443/",
        "denied.test:443#allowed.test:443", "denied.test:443,allowed.test:443", "allowed.test:443@denied.test:443",
        "allowed.test@denied.test:443", "allowed.test:443:denied.test:443", "allowed.test:443.denied.test:443", "/", "*", ":443",
    ],
)  # fmt: skip
def test_no_way_to_write_a_tunnel_reaches_another(out: WayOut, target: str):
    with out.reaching():
        for method in ("CONNECT", "connect", "Connect"):
            status, reason = answered(ask(out.path, f"{method} {target} HTTP/1.1", "Host: allowed.test:443"))
            assert status in {0, 400, 403, 404}, (status, reason)


def test_each_request_on_one_connection_is_looked_at(out: WayOut):
    with out.reaching(ALLOWED, WILD) as asked, calling(out.path) as caller:
        answers: list[tuple[int, str]] = []
        for host in ("allowed.test", "denied.test", "a.wild.test", "10.9.9.9", "allowed.test"):
            caller.say(f"GET http://{host}/ HTTP/1.1", f"Host: {host}")
            answers.append(answered(caller.answer()))

    assert answers == [(200, ""), (403, "host"), (200, ""), (403, "address"), (200, "")]
    assert hosts(asked) == {"allowed.test", "a.wild.test"}


def test_so_is_each_that_comes_before_the_one_before_it_was_answered(out: WayOut):
    with out.reaching(ALLOWED) as asked, calling(out.path) as caller:
        for host in ("allowed.test", "allowed.test", "denied.test", "denied.test"):
            caller.say(f"GET http://{host}/ HTTP/1.1", f"Host: {host}")
        answers = [answered(caller.answer()) for _ in range(4)]

    # Envoy may hang up on who goes on after a refusal.
    assert answers[:3] == [(200, ""), (200, ""), (403, "host")]
    assert answers[3] in {(403, "host"), (0, "closed")}
    assert len(asked) == 2


def test_a_tunnel_that_was_refused_does_not_open_by_being_used(out: WayOut):
    with out.reaching(), calling(out.path) as caller:
        caller.say("CONNECT denied.test:443 HTTP/1.1", "Host: denied.test:443", body=b"\x16\x03\x01\x02\x00\x01\x00")
        assert answered(caller.answer()) == (403, "host")
        assert b"200" not in caller.ended()


def test_what_is_asked_inside_a_tunnel_is_for_who_is_at_its_end(out: WayOut):
    with out.reaching(ALLOWED) as asked, calling(out.path) as caller:
        caller.say("CONNECT allowed.test:80 HTTP/1.1", "Host: allowed.test:80")
        assert answered(caller.answer())[0] == 200
        caller.say("GET http://denied.test/ HTTP/1.1", "Host: denied.test")
        assert answered(caller.answer())[0] == 200

    assert [each["at"] for each in asked] == [ALLOWED]


INNER = b"GET http://denied.test/smuggled HTTP/1.1\r\nHost: denied.test\r\n\r\n"
ALSO = b"GET /smuggled HTTP/1.1\r\nHost: denied.test\r\n\r\n"

FRAMED: dict[str, tuple[tuple[str | bytes, ...], bytes]] = {
    "both lengths, chunks first": (("Transfer-Encoding: chunked", "Content-Length: 4"), b"0\r\n\r\n"),
    "both lengths, content first": (("Content-Length: 5", "Transfer-Encoding: chunked"), b"0\r\n\r\n"),
    "two lengths": (("Content-Length: 0", f"Content-Length: {len(ALSO)}"), b""),
    "a list of lengths": ((f"Content-Length: 0, {len(ALSO)}",), b""),
    "a length with a sign": (("Content-Length: +0",), b""),
    "a length in hex": (("Content-Length: 0x0",), b""),
    "a negative length": (("Content-Length: -1",), b""),
    "a length that overflows": (("Content-Length: 18446744073709551616",), b""),
    "two codings": (("Transfer-Encoding: chunked, identity",), b"0\r\n\r\n"),
    "two headers of codings": (("Transfer-Encoding: identity", "Transfer-Encoding: chunked"), b"0\r\n\r\n"),
    "an unknown coding": (("Transfer-Encoding: xchunked",), b"0\r\n\r\n"),
    "a coding after a tab": (("Transfer-Encoding:\tchunked", "Content-Length: 4"), b"0\r\n\r\n"),
    "a coding with a bad byte": (("Transfer-Encoding: \x0bchunked", "Content-Length: 4"), b"0\r\n\r\n"),
    "a space before the colon": (("Transfer-Encoding : chunked", "Content-Length: 4"), b"0\r\n\r\n"),
    "a folded header": (("Transfer-Encoding:", " chunked", "Content-Length: 4"), b"0\r\n\r\n"),
    "a bare line feed": ((b"X: y\nTransfer-Encoding: chunked", "Content-Length: 4"), b"0\r\n\r\n"),
    "a bare carriage return": ((b"X: y\rTransfer-Encoding: chunked", "Content-Length: 4"), b"0\r\n\r\n"),
    "a zero byte": ((b"X: y\0", "Content-Length: 4"), b"0\r\n\r\n"),
    "a chunk that lies": (("Transfer-Encoding: chunked",), b"1\r\nxx\r\n0\r\n\r\n"),
    "a chunk with a huge size": (("Transfer-Encoding: chunked",), b"ffffffffffffffffff\r\nx\r\n0\r\n\r\n"),
    "a chunk that goes on": (("Transfer-Encoding: chunked",), b"0;ext=\n\r\n\r\n"),
    "trailers that are headers": (("Transfer-Encoding: chunked",), b"0\r\nHost: denied.test\r\n\r\n"),
    "a connection header that names the host": (("Connection: close, host, transfer-encoding", "Content-Length: 0"), b""),
    "two hosts": (("Host: denied.test", "Content-Length: 0"), b""),
    "an upgrade to another protocol": (("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ"), b""),
    "an expectation": (("Expect: 100-continue", "Content-Length: 4"), b"xxxx"),
}  # fmt: skip


@pytest.mark.parametrize("after", [INNER, ALSO], ids=["whole", "path"])
@pytest.mark.parametrize("framed", FRAMED)
def test_nothing_is_smuggled_behind_a_request(out: WayOut, framed: str, after: bytes):
    """What comes after is another request to the proxy, which refuses it, or a part of the first one's body."""
    headers, body = FRAMED[framed]
    with out.reaching(ALLOWED) as asked, calling(out.path) as caller:
        caller.say("POST http://allowed.test/first HTTP/1.1", "Host: allowed.test", *headers, body=body + after)
        caller.socket.settimeout(0.3)
        answers: list[Answer | None] = []
        try:
            while answer := caller.answer():
                answers.append(answer)
        except TimeoutError:
            pass

    assert hosts(asked) <= {"allowed.test"}
    assert len(asked) <= 1
    assert all("/first" in each["head"][0] for each in asked)
    assert sum(answer is not None and answer.status == 200 for answer in answers) <= 1


def test_http_2_is_not_spoken(out: WayOut):
    with out.reaching(), calling(out.path) as caller:
        caller.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        said = caller.ended()

    # An answer in HTTP/2 would begin with the settings of whoever speaks it.
    assert not said or said.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("version", ["HTTP/0.9", "HTTP/1.0", "HTTP/2.0", "HTTP/3.0", "HTTP/9.9", ""])
def test_another_version_reaches_nobody_else(out: WayOut, version: str):
    with out.reaching():
        status, _ = answered(ask(out.path, f"GET http://denied.test/ {version}".strip(), "Host: denied.test"))
        assert status != 200


@pytest.mark.parametrize(
    ("host", "reason"), [("denied.test", "host"), ("allowed.test", "upgrade"), ("10.9.9.9", "address")]
)
def test_what_is_in_the_clear_is_not_turned_into_a_websocket(out: WayOut, host: str, reason: str):
    upgrade = (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    )
    with out.reaching():
        answer = get(out.path, f"http://{host}/", *upgrade)

    assert answered(answer) in {(403, reason), (403, "upgrade")}


@pytest.mark.parametrize("method", ["TRACE", "OPTIONS", "DELETE", "PUT", "PATCH", "PROPFIND", "X"])
def test_no_method_reaches_another(out: WayOut, method: str):
    with out.reaching():
        for target in ("http://denied.test/", "*"):
            status, _ = answered(ask(out.path, f"{method} {target} HTTP/1.1", "Host: denied.test"))
            assert status != 200


def test_headers_that_envoy_obeys_change_nothing(out: WayOut):
    orders = (
        "x-envoy-original-dst-host: 198.51.100.20:80", "x-envoy-upstream-rq-timeout-ms: 1", "x-envoy-retry-on: 5xx",
        "x-envoy-max-retries: 50", "x-envoy-upstream-alt-stat-name: x", "x-envoy-decorator-operation: x", "x-envoy-internal: true",
        "X-Envoy-Original-Host: denied.test", "x-envoy-original-path: /other", "x-envoy-force-trace: 1",
    )  # fmt: skip
    with out.reaching(ALLOWED) as asked:
        assert answered(get(out.path, "http://allowed.test/", *orders)) == (200, "")

    assert [line for line in asked[0]["head"] if line.lower().startswith("x-envoy")] == []


def test_what_a_box_says_of_where_it_comes_from_is_its_own_affair(out: WayOut):
    """It is passed on as it is, changes nothing here, and nothing is added to it."""
    said = ("x-forwarded-for: 127.0.0.1", "x-forwarded-host: denied.test", "forwarded: for=127.0.0.1;host=denied.test")
    with out.reaching(ALLOWED) as asked:
        assert answered(get(out.path, "http://allowed.test/", *said)) == (200, "")

    assert sorted(asked[0]["head"][1:]) == sorted(("host: allowed.test", *said))


def test_what_is_for_the_proxy_is_not_passed_on(out: WayOut):
    between = (
        "Proxy-Authorization: Basic c2VjcmV0",
        "Proxy-Connection: keep-alive",
        "x-request-id: 1",
        "x-forwarded-proto: https",
    )
    with out.reaching(ALLOWED) as asked:
        assert answered(get(out.path, "http://allowed.test/", *between)) == (200, "")

    assert asked[0]["head"] == ["GET / HTTP/1.1", "host: allowed.test"]


def test_nothing_of_a_tunnels_request_is_passed_on(out: WayOut):
    with out.reaching(ALLOWED) as asked, calling(out.path) as caller:
        caller.say("CONNECT allowed.test:80 HTTP/1.1", "Host: allowed.test:80", "Proxy-Authorization: Basic c2VjcmV0")
        assert answered(caller.answer())[0] == 200
        caller.say("GET /all HTTP/1.1")
        assert answered(caller.answer())[0] == 200

    assert asked[0]["head"] == ["GET /all HTTP/1.1"]


@pytest.mark.parametrize("host", ["allowed.test", "denied.test"])
def test_too_many_or_too_long_headers_are_refused(out: WayOut, host: str):
    with out.reaching():
        many = [f"x-{number}: y" for number in range(200)]
        assert answered(get(out.path, f"http://{host}/", *many))[0] in {0, 400, 431}
        assert answered(get(out.path, f"http://{host}/", "x: " + "y" * 70_000))[0] in {0, 400, 431}
        assert answered(get(out.path, f"http://{host}/" + "y" * 70_000))[0] in {0, 400, 413, 414, 431}
        assert answered(get(out.path, f"http://{'a.' * 20_000}{host}/"))[0] in {0, 400, 403, 431}
