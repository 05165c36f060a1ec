"""A client of the gateway that has answers at hand before it is asked."""

from pathlib import Path
from typing import Any

import pytest

from support.gateways import META, ask, line_to, serving
from support.kit_http import PREFIX
from support.offers import DONE, ELICIT, offering, required
from support.servers import received

ABLE = {**META, f"{PREFIX}/clientCapabilities": {"elicitation": {"form": {}}}}
LENGTH = {"action": "accept", "content": {"n": 5}}


def call(**answers: Any) -> dict[str, Any]:
    return {"name": "work_act", "arguments": {}, "inputResponses": answers, "_meta": ABLE}


@pytest.mark.requirement("GTW-3")
async def test_answers_to_all_that_is_asked_are_taken_and_what_nobody_asked_for_goes_nowhere(tmp_path: Path):
    server = offering(tmp_path, scenario={"tools/call": [required("kept", length=ELICIT), DONE]})
    async with serving(server) as gateway, line_to(gateway.port) as line:
        told = await ask(line, "tools/call", call(length=LENGTH, width=LENGTH))
    assert told.text == "done"
    calls = [m["params"] for m in received(tmp_path / "work.log") if m.get("method") == "tools/call"]
    assert "inputResponses" not in calls[0]
    assert set(calls[1]["inputResponses"]) == {"length"}
    assert calls[1]["requestState"] == "kept"


@pytest.mark.requirement("GTW-3")
async def test_answers_to_something_else_are_none_and_the_client_is_asked(tmp_path: Path):
    server = offering(tmp_path, scenario={"tools/call": [required(length=ELICIT)]})
    async with serving(server) as gateway, line_to(gateway.port) as line:
        told = await ask(line, "tools/call", call(width=LENGTH))
        wrong = await ask(line, "tools/call", {**call(), "inputResponses": 5})
    assert told.message["result"]["resultType"] == "input_required"
    assert set(told.message["result"]["inputRequests"]) == {"length"}
    assert wrong.message["error"]["code"] == -32602
