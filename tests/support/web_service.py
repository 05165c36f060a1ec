"""A web service on loopback that answers as it was told, and keeps what it was asked."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

Answer = tuple[int, dict[str, str], bytes]


class WebService(ThreadingHTTPServer):
    """`answers` by path; others are 404. `asked` are method, path, headers and body of each request."""

    daemon_threads = True

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), _Asked)
        self.port = int(self.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections = 0
        self.released = threading.Event()

    def get_request(self) -> Any:
        self.connections += 1
        return super().get_request()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what some tests want."""


class _Asked(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        service = cast("WebService", self.server)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        service.asked.append((self.command, self.path, headers, body))
        if self.path.startswith("/silent"):
            service.released.wait(30)
            return
        status, more, content = service.answers.get(self.path.partition("?")[0], (404, {}, b"nothing here"))
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | more).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = _answer  # noqa: N815 -- the names that are called

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the library's
        """Not on the screen of who runs the tests."""


@contextmanager
def web_service(host: str = "127.0.0.1") -> Generator[WebService]:
    service = WebService(host)
    thread = threading.Thread(target=service.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield service
    finally:
        service.released.set()
        service.shutdown()
        service.server_close()
        thread.join()
