"""Minimal MCP server over stdio, in both protocol eras."""

import io
import json
from typing import Any

import pytest

from bascule.config import ServerConfig
from bascule.demo.story.stage import built_in
from bascule.kit.stdio_server import LABELS, VERSION, Labelled, Tool, ToolError, called, serve
from bascule.sensitivity.private_data import LABELS_KEY
from bascule.upstream.settings import Era
from bascule.wire.request_meta import NEW_VERSIONS
from support.runtime import at_work, good

DOUBLE = Tool(
    "double",
    "Doubles.",
    {"type": "object", "properties": {"n": {"type": "integer"}}},
    lambda n=1: {"n": n * 2},
)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What the server answers to these messages, until its input ends."""

    def said(*messages: dict[str, Any]) -> list[dict[str, Any]]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(json.dumps(message) + "\n" for message in messages)))
        serve("doubling", (DOUBLE,))
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return said


def ask(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, **({"params": params} if params else {})}


def test_it_offers_the_newest_version_we_speak(answers: Any):
    (answer,) = answers(ask("server/discover"))

    assert NEW_VERSIONS[-1] == VERSION
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
    assert answer["result"]["supportedVersions"] == [VERSION]
    assert answer["result"]["capabilities"] == {"tools": {}}


def test_it_shakes_hands_in_the_old_way_too(answers: Any):
    (answer,) = answers(ask("initialize", protocolVersion="2025-11-25"))

    assert answer["result"]["protocolVersion"] == "2025-11-25"
    assert answer["result"]["serverInfo"]["name"] == "doubling"


def test_it_lists_its_tools(answers: Any):
    (answer,) = answers(ask("tools/list"))

    assert answer["result"]["tools"] == [
        {"name": "double", "description": "Doubles.", "inputSchema": DOUBLE.input_schema}
    ]
    assert answer["result"]["resultType"] == "complete"


def test_it_calls_a_tool_with_what_it_is_given(answers: Any):
    given, bare = answers(ask("tools/call", name="double", arguments={"n": 4}), ask("tools/call", name="double"))

    assert given["result"]["structuredContent"] == {"n": 8}
    assert json.loads(given["result"]["content"][0]["text"]) == {"n": 8}
    assert given["result"]["isError"] is False
    assert bare["result"]["structuredContent"] == {"n": 2}


def test_it_answers_a_ping(answers: Any):
    (answer,) = answers(ask("ping"))

    assert (answer["id"], "result" in answer) == (7, True)


@pytest.mark.parametrize("message", [ask("resources/list"), ask("tools/call", name="triple")], ids=["method", "tool"])
def test_what_it_does_not_have_is_refused(answers: Any, message: dict[str, Any]):
    (answer,) = answers(message)

    assert answer["error"]["code"] == -32601


def test_what_it_offers_beside_tools_is_declared_and_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    asked = [ask("server/discover"), ask("resources/read", uri="a://1")]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(json.dumps(message) + "\n" for message in asked)))
    serve("doubling", (DOUBLE,), {"resources/read": lambda params: {"contents": [params["uri"]]}})
    declared, answered = (json.loads(line)["result"] for line in capsys.readouterr().out.splitlines())

    assert declared["capabilities"] == {"tools": {}, "resources": {}}
    assert (answered["contents"], answered["resultType"]) == (["a://1"], "complete")


def test_labels_stand_where_a_runtime_looks_for_them():
    assert LABELS == LABELS_KEY


def test_it_says_nothing_to_a_notification(answers: Any):
    assert answers({"jsonrpc": "2.0", "method": "notifications/initialized"}) == []


def test_a_result_says_how_private_it_is():
    result = called(Tool("read", "Reads.", {}, lambda: Labelled({"n": 1}, "secret")), {})

    assert (result["structuredContent"], result["_meta"]) == ({"n": 1}, {LABELS: ["secret"]})


def test_a_tool_that_cannot_do_it_says_why_in_its_result():
    def fail() -> dict[str, Any]:
        raise ToolError("there is nobody", why="gone")

    result = called(Tool("meet", "Meets.", {}, fail), {})

    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "there is nobody"}]
    assert result["structuredContent"] == {"why": "gone"}


@pytest.mark.parametrize(("era", "version"), [("old", "2025-11-25"), ("new", "2026-07-28")])
async def test_a_runtime_can_use_it_in_either_era(era: Era, version: str):
    async with at_work(ServerConfig("clock", built_in("clock"), era=era)) as session:
        good(await session.call("clock_now", {}))

        assert [report.version for report in session.servers()] == [version]
