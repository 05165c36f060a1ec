"""Everybody on a small internet, as a process in a network namespace: hosts that listen on every address there, and a
name server. Run as a program with the names as JSON; tells what happens on stdout, and ends with its stdin.

`{"names": {name: [address, …]}}` on stdin changes names while it runs. `{"challenge": {"header": …, "then": {name:
[address, …]}}}` sets the challenge of requests for a path with `/challenge`, and the names from its sending on.
"""

import json
import socket
import ssl
import sys
import threading
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

PORTS = (22, 80, 443, 8080)

_telling = threading.Lock()


def tell(**said: Any) -> None:
    with _telling:
        print(json.dumps(said), flush=True)


def address(end: socket.socket) -> tuple[str, int]:
    """Without the disguise that an address of IPv4 has on a socket for both."""
    host, port = end.getsockname()[:2]
    return host.removeprefix("::ffff:"), port


names: dict[str, list[str]] = {}
challenge: dict[str, Any] = {}


class Host:
    """One connection: whatever comes is told, and each request is answered with what was received."""

    def __init__(self, end: socket.socket, certificate: str) -> None:
        self.end = end
        self.at, self.port = address(end)
        self.sni = ""
        self.certificate = certificate

    def serve(self) -> None:
        with suppress(OSError):
            self.end.settimeout(20)
            if self.port == 443 and self.certificate and self.end.recv(1, socket.MSG_PEEK) == b"\x16":
                self.end = self._hello()
            if self.port == 22:
                self.end.sendall(b"SSH-2.0-canary\r\n")
            rest = b""
            while (rest := self._one(rest)) is not None:
                pass
        self.end.close()

    def _hello(self) -> socket.socket:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        context.sni_callback = lambda _end, name, _context: setattr(self, "sni", name or "")
        return context.wrap_socket(self.end, server_side=True)

    def _one(self, data: bytes) -> Any:
        while b"\r\n\r\n" not in data:
            more = self.end.recv(65536)
            if not more:
                return None
            data += more
        head, _, rest = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        if headers.get("transfer-encoding") == "chunked":
            body, rest = self._chunks(rest)
        else:
            body, rest = self._exactly(int(headers.get("content-length", "0")), rest)
        said = {"at": self.at, "port": self.port, "sni": self.sni, "head": lines, "body": body.decode("latin-1")}
        tell(asked=said)
        if "/silence" in lines[0]:
            return rest
        if "/challenge" in lines[0]:
            names.update(challenge["then"])
            demand = f"WWW-Authenticate: {challenge['header']}\r\n".encode()
            self.end.sendall(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n" + demand + b"\r\n")
            return rest
        answer = b"x" * 1_000_000 if "/much" in lines[0] else json.dumps(said).encode()
        self.end.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nserver: canary\r\n\r\n" % len(answer) + answer)
        return rest

    def _exactly(self, length: int, data: bytes) -> tuple[bytes, bytes]:
        while len(data) < length:
            if not (more := self.end.recv(65536)):
                raise OSError("cut off")
            data += more
        return data[:length], data[length:]

    def _chunks(self, data: bytes) -> tuple[bytes, bytes]:
        body = b""
        while True:
            line, data = self._line(data)
            size = int(line, 16)
            if not size:
                break
            chunk, data = self._exactly(size + 2, data)
            body += chunk[:-2]
        while line:
            line, data = self._line(data)
        return body, data

    def _line(self, data: bytes) -> tuple[bytes, bytes]:
        while b"\r\n" not in data:
            if not (more := self.end.recv(65536)):
                raise OSError("cut off")
            data += more
        line, _, rest = data.partition(b"\r\n")
        return line, rest


def listen(port: int, certificate: str) -> None:
    server = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
    while True:
        end, _ = server.accept()
        host = Host(end, certificate)
        # In the order in which they come: whose own connection is told has been told of all before it.
        tell(connected=host.at, port=host.port)
        threading.Thread(target=host.serve, daemon=True).start()


def answer_names() -> None:
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("0.0.0.0", 53))
    while True:
        query, who = server.recvfrom(4096)
        with suppress(IndexError, ValueError):
            server.sendto(answered(query), who)


def answered(query: bytes) -> bytes:
    labels: list[str] = []
    at = 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode("latin-1"))
        at += length + 1
    question = query[12 : at + 5]
    kind = int.from_bytes(query[at + 1 : at + 3], "big")
    name = ".".join(labels)
    tell(looked_up=name, kind=kind)
    found = [ip_address(text) for text in names.get(name.lower(), ())]
    records = [each for each in found if (each.version, kind) in ((4, 1), (6, 28))]
    code = 0 if found else 3
    header = query[:2] + bytes([0x81, 0x80 | code]) + b"\0\1" + len(records).to_bytes(2, "big") + b"\0\0\0\0"
    # A second to live: what a name leads to may be another thing when it is looked up again.
    body = b"".join(
        b"\xc0\x0c"
        + kind.to_bytes(2, "big")
        + b"\0\1"
        + b"\0\0\0\1"
        + len(each.packed).to_bytes(2, "big")
        + each.packed
        for each in records
    )
    return header + question + body


def main() -> None:
    told = json.loads(sys.argv[1])
    names.update(told.get("names", {}))
    for port in PORTS:
        threading.Thread(target=listen, args=(port, told.get("certificate", "")), daemon=True).start()
    if names:
        threading.Thread(target=answer_names, daemon=True).start()
    tell(ready=True)
    for line in sys.stdin:
        told = json.loads(line)
        names.update(told.get("names", {}))
        challenge.update(told.get("challenge", {}))
        tell(named=True)


if __name__ == "__main__":
    main()
