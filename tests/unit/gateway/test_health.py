import json
from typing import Any

import pytest

from bascule.core.errors import NotIdentified
from bascule.gateway.health import Signs

URL = "https://tools.example/mcp"
ISSUER = "https://id.example"


class Heard:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    async def __call__(self, event: dict[str, Any]) -> None:
        self.events.append(event)

    @property
    def status(self) -> int:
        return self.events[0]["status"]

    @property
    def header(self) -> str:
        return dict(self.events[0]["headers"])[b"www-authenticate"].decode()


async def shown(signs: Signs, path: str, method: str = "GET") -> Heard:
    heard = Heard()
    await signs.show({"path": path, "method": method}, heard)
    return heard


async def test_whether_it_lives_is_told_to_everybody():
    assert (await shown(Signs(URL, ()), "/healthz")).status == 200
    assert (await shown(Signs(URL, ()), "/healthz", "POST")).status == 404


async def test_who_issues_tokens_is_told_where_somebody_does():
    path = "/.well-known/oauth-protected-resource/mcp"
    heard = await shown(Signs(URL, (ISSUER,)), path)
    said = json.loads(heard.events[1]["body"])
    assert (said["resource"], said["authorization_servers"]) == (URL, [ISSUER])
    assert (await shown(Signs(URL, ()), path)).status == 404


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        ("", 401, 'Bearer resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp"'),
        ("invalid_token", 401, 'error="invalid_token"'),
        ("insufficient_scope", 403, 'error="insufficient_scope"'),
    ],
)
async def test_whoever_is_not_let_in_learns_where_to_get_a_token(error: str, status: int, words: str):
    heard = Heard()
    await Signs(URL, (ISSUER,)).challenge(NotIdentified("no", rule="token_shown", error=error), heard)
    assert heard.status == status
    assert words in heard.header


@pytest.mark.parametrize(("reasons", "status"), [((), 200), (("store",), 503), (("store", "required-server"), 503)])
async def test_whether_it_is_ready_is_told_with_what_is_in_the_way(reasons: tuple[str, ...], status: int):
    heard = await shown(Signs(URL, (), lambda: reasons), "/readyz")
    assert heard.status == status
    assert json.loads(heard.events[1]["body"]) == {"ready": not reasons, "reasons": [*reasons]}


async def test_who_was_told_to_stop_is_not_ready():
    signs = Signs(URL, ())
    assert (await shown(signs, "/readyz")).status == 200
    signs.draining = lambda: True
    heard = await shown(signs, "/readyz")
    assert heard.status == 503
    assert json.loads(heard.events[1]["body"]) == {"ready": False, "reasons": ["draining"]}
    assert (await shown(signs, "/healthz")).status == 200
