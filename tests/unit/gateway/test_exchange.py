"""How an answer is sent, piece by piece. Whole exchanges are in test_app.py."""

import json
from typing import Any

from bascule.gateway.exchange import respond


async def test_an_answer_tells_its_length_and_its_kind():
    said: list[Any] = []

    async def send(event: dict[str, Any]) -> None:
        said.append(event)

    await respond(send, 418, json.dumps({"a": 1}).encode(), [(b"x", b"y")])
    await respond(send, 202)
    start, body, bare, nothing = said
    assert (start["status"], dict(start["headers"])) == (
        418,
        {b"content-type": b"application/json", b"content-length": b"8", b"x": b"y"},
    )
    assert body["body"] == b'{"a": 1}'
    assert (bare["status"], dict(bare["headers"])) == (202, {b"content-length": b"0"})
    assert nothing["body"] == b""
