"""Servers that ask something of us on a link."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import PeerRefused
from bascule.core.json_types import JsonObject
from bascule.transports.dispatcher import Response
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link
from bascule.upstream.server_requests import AskedOn, OnQuestion, Reception
from support.links import a_key, a_link, a_plan
from support.servers import received, stdio
from support.streams import a_request
from support.waiting import fail_after


async def answer_of(name: str, answer: OnQuestion | None, *args: object, **terms: Any) -> tuple[Link, JsonObject]:
    """What a server gives back that asks us for roots when it is called."""
    link = a_link(replace(a_plan(lambda: stdio(name, *args), **terms), answer=answer))
    link.start()
    try:
        async with fail_after(20, "the life of a link"):
            await link.opened()
            arguments = {"ask": "elicitation/create", "params": {"message": "Who?"}, "message": "hi"}
            result = await link.send(a_request(params={"name": "ask", "arguments": arguments}, timeout=10.0))
            return link, result
    finally:
        await link.close()


async def test_a_question_is_answered_for_the_link_it_came_on():
    asked: list[tuple[LinkKey, str, JsonObject]] = []

    async def answer(link: AskedOn, method: str, params: JsonObject) -> Response:
        asked.append((link.key, method, params))
        return Response({"action": "decline"})

    _, result = await answer_of("asking", answer)

    assert result["structuredContent"]["result"] == {"action": "decline"}
    assert asked == [(a_key(), "elicitation/create", {"message": "Who?"})]


async def test_a_refusal_is_an_error_to_the_server():
    async def answer(link: AskedOn, method: str, params: JsonObject) -> Response:
        raise PeerRefused("not now", rpc_code=-1)

    _, result = await answer_of("asking", answer)

    assert result["structuredContent"]["error"] == {"code": -1, "message": "not now"}


async def test_without_anyone_to_answer_every_question_is_refused():
    _, result = await answer_of("asking", None)

    assert result["structuredContent"]["error"]["code"] == -32601


async def test_a_server_of_the_new_era_has_no_requests_to_make(tmp_path: Path):
    async def answer(link: AskedOn, method: str, params: JsonObject) -> Response:
        raise AssertionError

    link = a_link(replace(a_plan(lambda: stdio("new", "--log", tmp_path / "log")), answer=answer))
    async with fail_after(20, "the life of a link"):
        link.start()
        await link.opened()
        dispatcher = link._dispatcher
        await link.close()

    assert dispatcher is not None
    assert dispatcher.on_request is None


@pytest.mark.parametrize(
    ("server", "method", "said"), [("old", "initialize", "offered"), ("new", "tools/call", "capabilities")]
)
async def test_what_is_offered_is_declared_in_the_words_of_the_era(tmp_path: Path, server: str, method: str, said: str):
    offered = {"elicitation": {"form": {}, "url": {}}}
    await answer_of(server, None, "--log", tmp_path / "log", **{said: offered})
    sent = next(message for message in received(tmp_path / "log") if message.get("method") == method)
    meta = sent["params"].get("_meta", {})

    declared = sent["params"].get("capabilities", meta.get("io.modelcontextprotocol/clientCapabilities"))
    assert declared == offered


def test_by_default_nothing_is_offered():
    assert (Reception().capabilities, Reception().offered, Reception().answer) == ({}, {}, None)
