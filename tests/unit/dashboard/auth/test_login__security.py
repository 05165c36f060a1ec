"""What every answer tells the browser."""

from typing import Any

from bascule.dashboard.auth.login import HEADERS, POLICY, secured


async def sent(*headers: tuple[bytes, bytes]) -> dict[bytes, bytes]:
    told: list[Any] = []

    async def send(event: Any) -> None:
        told.append(event)

    await secured(send)({"type": "http.response.start", "status": 200, "headers": [*headers]})
    await secured(send)({"type": "http.response.body", "body": b"x"})
    assert told[1] == {"type": "http.response.body", "body": b"x"}
    return dict(told[0]["headers"])


async def test_nothing_runs_or_is_shown_that_is_not_ours():
    headers = await sent()
    assert headers == HEADERS
    assert headers[b"content-security-policy"].decode() == POLICY
    assert POLICY.startswith("default-src 'none'")
    words = {word for part in POLICY.split("; ") for word in part.split(" ")[1:]}
    assert words == {"'none'", "'self'"}
    assert "frame-ancestors 'none'" in POLICY


async def test_only_how_long_it_is_kept_is_for_an_answer_to_say():
    headers = await sent((b"cache-control", b"public"), (b"content-type", b"text/css"))
    assert headers[b"cache-control"] == b"public"
    assert headers[b"content-security-policy"].decode() == POLICY
    assert (await sent())[b"cache-control"] == b"no-store"
