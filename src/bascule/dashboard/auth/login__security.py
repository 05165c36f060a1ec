"""What every answer tells the browser: load nothing from elsewhere, keep nothing, show it in no frame."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

Send = Callable[[Any], Awaitable[None]]

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Neither scripts nor styles stand in the page itself, so that nothing a server says can become one."""

HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    # Others are told nothing. With `no-referrer` a browser would not name the origin of our own forms either.
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"cache-control": b"no-store",
}


def secured(send: Send) -> Send:
    """Sends each answer with these headers. What the answer says itself of how long it is kept stands."""

    async def tell(event: dict[str, Any]) -> None:
        if event["type"] == "http.response.start":
            given: Sequence[tuple[bytes, bytes]] = event.get("headers", ())
            event = {**event, "headers": [*given, *_missing(dict(given)).items()]}
        await send(event)

    return tell


def _missing(given: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    return {name: value for name, value in HEADERS.items() if name != b"cache-control" or name not in given}
