"""HTTP connector: requests to web services that the server's author declares, with the methods declared there."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from bascule.core.errors import ProtocolViolation, UsageError
from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.http.exchange import RawReply, Request, exchange
from bascule.kit.connectors.http.source import HttpSource, origin_of
from bascule.kit.connectors.source import tell
from bascule.wire.upstream_headers import UPSTREAM_HEADERS

Plain = str | int | float | bool
Query = Mapping[str, Plain | list[Plain] | tuple[Plain, ...]]

MAX_REDIRECTS = 5

_REDIRECTS = frozenset([301, 302, 303, 307, 308])
_CHARSET = re.compile(
    r"charset=\"?(utf-?(?:8|16|32)|(?:us-)?ascii|latin-?1|iso-8859-\d+|windows-125\d|shift_jis|euc-\w+|gb\w+|big5|koi8-\w)",
    re.IGNORECASE,
)
"""Some of what Python can decode takes time by the square of the length."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What a service answered, an error of its own too."""

    status: int
    url: str
    """Where it came from in the end."""
    type: str
    text: str
    cut: bool
    """Whether there was more than may be shown."""

    def json(self) -> Any:
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            reason = "it was cut, being too long" if self.cut else self.text[:80]
        raise ProtocolViolation("the answer is no JSON", evidence=reason)


class HttpConnector(Connector):
    """Redirects are followed for reading, each looked at as if it had been asked for."""

    @staticmethod
    def get(source: HttpSource, path: str, query: Query | None = None) -> HttpReply:
        return HttpConnector.request(source, "GET", path, query=query)

    @staticmethod
    def request(
        source: HttpSource,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        """`path` is below the source's `base_url`. `body` is sent as JSON. `headers` are the tool's, not a model's."""
        if method not in source.methods:
            raise UsageError(
                "this source is not asked by that method",
                where=source.name,
                evidence=method[:20],
                fix=f"use {_one(source)}",
            )
        url = with_query(source.address(path), query or {})
        tell(source)
        return _followed(source, Request(method, url, dict(headers or {}), _body(body)))


def with_query(url: str, query: Query) -> str:
    if not query:
        return url
    pairs = [(name, _word(item)) for name, value in query.items() for item in _items(value)]
    return f"{url}{'&' if '?' in url else '?'}{urlencode(pairs)}"


def _items(value: Any) -> list[Any]:
    return [*value] if isinstance(value, list | tuple) else [value]


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _body(body: Any) -> bytes | None:
    if body is None:
        return None
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        reason = str(error)
    raise UsageError("the body is nothing that JSON could hold", evidence=reason)


def _followed(source: HttpSource, request: Request) -> HttpReply:
    until = time.monotonic() + source.seconds
    for _ in range(MAX_REDIRECTS + 1):
        reply = exchange(source, _dressed(source, request), until)
        location = reply.headers.get("location")
        if reply.status not in _REDIRECTS or location is None or request.method not in {"GET", "HEAD"}:
            return _shown(request.url, reply)
        # The tool's own headers were meant for the one that was asked.
        request = Request(request.method, urljoin(request.url, location).partition("#")[0], {})
    raise ProtocolViolation(f"{source.name} leads from one address to the next", evidence=f"{MAX_REDIRECTS} times")


def _dressed(source: HttpSource, request: Request) -> Request:
    source.checked(request.url)
    headers = {
        "Accept": "application/json, text/*;q=0.9, */*;q=0.5",
        "Accept-Encoding": "identity",
        **UPSTREAM_HEADERS,
    }
    if request.body is not None:
        headers["Content-Type"] = "application/json"
    if origin_of(urlsplit(request.url)) == source.origin:
        headers |= source.headers
    return Request(request.method, request.url, {**headers, **request.headers}, request.body)


def _shown(url: str, reply: RawReply) -> HttpReply:
    kind = reply.headers.get("content-type", "")
    if reply.headers.get("content-encoding", "identity").lower() != "identity":
        raise ProtocolViolation("the answer is packed, which was not asked for", evidence=kind[:80])
    charset = _CHARSET.search(kind)
    try:
        text = reply.body.decode(charset[1] if charset else "utf-8", errors="replace")
    except (LookupError, ValueError):
        text = reply.body.decode("utf-8", errors="replace")
    if "\0" in text:
        raise ProtocolViolation("the answer is no text", evidence=kind[:80])
    return HttpReply(reply.status, url, kind, text, reply.cut)


def _one(source: HttpSource) -> str:
    return ", ".join(sorted(source.methods)) or "another source"
