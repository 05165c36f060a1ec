"""A server that tells of changes as no honest one would, over stdio or HTTP, in the new era or the old one.

Its arguments are the carrier, `stdio` or `http`, the era, and the way:
`flood`, changes without end while nothing changes; `restless`, the same, and every list is another; `echoes`, the long
request is acknowledged without end; `deaf`, it is never answered; `fickle`, it is answered at once, each time; `cross`, it
is refused, each time; `stuck`, changes without end, and no second list ever.
The tool `counted` says how often it was asked for what.
"""

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Write = Callable[[dict[str, Any]], None]
LISTEN = "subscriptions/listen"
CACHE = {"ttlMs": 3_600_000, "cacheScope": "private", "resultType": "complete"}
CAPABILITIES = {kind: {"listChanged": True} for kind in ("tools", "resources", "prompts")}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
ACKNOWLEDGED = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"}
FLOODING = {"flood", "restless", "stuck"}


class Noise:
    """What it says, whatever carries it."""

    def __init__(self, era: str, way: str) -> None:
        self.era, self.way = era, way
        self.asked = Counter[str]()

    def hear(self, message: dict[str, Any], write: Write) -> None:
        """Answer a request. One that is answered with a stream returns only when nobody listens any more."""
        method = message.get("method", "")
        self.asked[method] += 1
        if "id" not in message:
            return
        if method == LISTEN and self.era == "new":
            self.listen(message, write)
            return
        body = self.body(method)
        if body is not None:
            write({"jsonrpc": "2.0", "id": message["id"], **body})

    def body(self, method: str) -> dict[str, Any] | None:
        match method:
            case "server/discover" if self.era == "new":
                return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, **CACHE}}
            case "initialize" if self.era == "old":
                info = {"name": "noisy", "version": "1"}
                return {"result": {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": info}}
            case "tools/list":
                return None if self.way == "stuck" and self.asked[method] > 1 else {"result": self.listed()}
            case "tools/call":
                return {"result": {"content": [{"type": "text", "text": json.dumps(self.asked)}], **CACHE}}
            case _:
                return {"error": {"code": -32601, "message": "Method not found"}}

    def listed(self) -> dict[str, Any]:
        names = ["counted", *([f"t{self.asked['tools/list']}"] if self.way == "restless" else [])]
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names], **CACHE}

    def listen(self, message: dict[str, Any], write: Write) -> None:
        if self.way == "cross":
            write({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": "not for you"}})
        elif self.way == "deaf":
            threading.Event().wait()
        else:
            write(ACKNOWLEDGED)
            if self.way == "fickle":
                write({"jsonrpc": "2.0", "id": message["id"], "result": CACHE})
            else:
                self.roar(write)

    def roar(self, write: Write) -> None:
        while self.way in FLOODING or self.way == "echoes":
            write(ACKNOWLEDGED if self.way == "echoes" else CHANGED)


def serve_stdio(noise: Noise) -> None:
    lock = threading.Lock()

    def write(message: dict[str, Any]) -> None:
        with lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()

    for line in sys.stdin:
        message = json.loads(line)
        long = message.get("method") == LISTEN or (
            message.get("method") == "notifications/initialized" and noise.way in FLOODING
        )
        if not long:
            noise.hear(message, write)
            continue
        work = noise.hear if message.get("method") == LISTEN else lambda _, write: noise.roar(write)
        threading.Thread(target=work, args=(message, write), daemon=True).start()


class Door(BaseHTTPRequestHandler):
    """One connection over HTTP."""

    protocol_version = "HTTP/1.1"
    noise: Noise

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message.get("method") == LISTEN and self.noise.era == "new":
            self.stream(lambda write: self.noise.hear(message, write))
            return
        said: list[dict[str, Any]] = []
        self.noise.hear(message, said.append)
        if not said and "id" in message:
            threading.Event().wait()
        body = json.dumps(said[0]).encode() if said else b""
        self.send_response(200 if said else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if self.noise.era == "old" and self.noise.way in FLOODING:
            self.stream(self.noise.roar)
        else:
            self.send_error(405)

    def stream(self, fill: Callable[[Write], None]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):
            fill(self.event)

    def event(self, message: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(message).encode() + b"\n\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the name is the library's
        """It makes noise enough."""


def serve_http(noise: Noise) -> None:
    Door.noise = noise
    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}/mcp\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    carrier, era, way = sys.argv[1:]
    (serve_http if carrier == "http" else serve_stdio)(Noise(era, way))
