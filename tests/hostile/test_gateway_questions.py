"""Clients that answer what they were not asked, and servers that ask what they may not, through the gateway."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.runtime.server_requests.in_flight import MOST_ASKED
from bascule.runtime.server_requests.respondent import MAX_ANSWER
from support.gateways import META, ask, serving
from support.kit_http import AUTH, Answered, bearer, line_to
from support.offers import DONE, ELICIT, offering, required
from support.old_client import old_client
from support.runtime import TIMEOUTS, Events, calls_in, stand_in
from support.scenarios import log_of
from support.servers import methods, received
from support.waiting import fail_after, until

WHO = {"ask": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {"type": "object"}}}
ACCEPT = {"action": "accept", "content": {"name": "Ada"}}
CAPABLE = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


def asking(log: Path, **config: Any) -> Any:
    return stand_in("it", "asking", log, **config)


async def call(line: Any, name: str = "it_ask", arguments: Any = WHO, **more: Any) -> Answered:
    """A request of a client of the new era that can be asked."""
    headers = {key: more.pop(key) for key in ("Authorization",) if key in more}
    params = {"name": name, "arguments": arguments, "_meta": {**META, **CAPABLE}, **more}
    return await ask(line, "tools/call", params, **headers)


# Clients


async def test_only_the_session_that_was_asked_can_answer(tmp_path: Path):
    alice, bob = bearer("alice"), bearer("bob")
    async with (
        serving(asking(tmp_path / "log"), auth=AUTH) as served,
        old_client(served.port, Authorization=alice) as asked,
        old_client(served.port, Authorization=alice) as beside,
        old_client(served.port, Authorization=bob) as other,
        asked.call("it_ask", **WHO) as messages,
    ):
        question = await anext(messages)
        assert (question["method"], len(question["id"]) >= 20) == ("elicitation/create", True)
        forged = {"action": "accept", "content": {"name": "Mallory"}}
        assert await beside.answer(question, forged) == 202
        assert await other.answer(question, forged) == 202
        other.headers["Mcp-Session-Id"] = asked.headers["Mcp-Session-Id"]
        assert await other.answer(question, forged) == 404
        assert await asked.answer({"id": "guessed"}, forged) == 202
        assert await asked.answer({"id": 1}, forged) == 202
        assert await asked.answer(question, ACCEPT) == 202
        assert await asked.answer(question, forged) == 202
        result = await anext(messages)
    assert result["result"]["structuredContent"]["result"] == ACCEPT


@pytest.mark.parametrize("body", [{"id": "x"}, {"id": [], "result": {}}, {"id": None, "result": {}}])
async def test_what_is_no_answer_is_turned_away(tmp_path: Path, body: Any):
    async with serving(asking(tmp_path / "log")) as served, old_client(served.port) as client:
        assert await client.post({"jsonrpc": "2.0", **body}) == 400


async def test_an_answer_that_is_too_large_is_a_no(tmp_path: Path):
    async with (
        serving(asking(tmp_path / "log"), message_max=MAX_ANSWER + 100_000) as served,
        old_client(served.port) as client,
        client.call("it_ask", **WHO) as messages,
    ):
        question = await anext(messages)
        assert (
            await client.answer(question, {"action": "accept", "content": {"x": "y" * (MAX_ANSWER + 200_000)}}) == 413
        )
        assert await client.answer(question, {"action": "accept", "content": {"x": "y" * MAX_ANSWER}}) == 202
        result = await anext(messages)
    assert result["result"]["structuredContent"]["result"] == {"action": "decline"}


async def test_an_error_of_a_client_is_a_no(tmp_path: Path):
    async with (
        serving(asking(tmp_path / "log")) as served,
        old_client(served.port) as client,
        client.call("it_ask", **WHO) as messages,
    ):
        await client.answer(await anext(messages), error={"code": -1, "message": "no"})
        assert (await anext(messages))["result"]["structuredContent"]["result"] == {"action": "decline"}


async def test_who_hangs_up_with_a_question_open_takes_the_call_back(tmp_path: Path, events: Events):
    log = tmp_path / "log"
    async with serving(asking(log), events=events) as served, old_client(served.port) as client:
        async with client.call("it_ask", **WHO) as messages:
            await anext(messages)
        await until(lambda: "notifications/cancelled" in methods(log))
        await until(lambda: len(events.answers) == 1)
    assert events.answers[0].answer == "refused"


async def test_who_never_answers_has_the_time_of_the_call(tmp_path: Path):
    server = asking(tmp_path / "log", timeouts=replace(TIMEOUTS, call=0.3))
    async with (
        serving(server) as served,
        old_client(served.port) as client,
        client.call("it_ask", **WHO) as messages,
        fail_after(10, "the end of the call"),
    ):
        question = await anext(messages)
        told = [message async for message in messages]
    assert told[-1]["result"]["isError"] is True
    assert [each["params"]["requestId"] for each in told[:-1]] in ([], [question["id"]])


async def test_a_parked_call_that_nobody_comes_back_for_ends_with_its_time(tmp_path: Path):
    log = tmp_path / "log"
    async with (
        serving(asking(log, timeouts=replace(TIMEOUTS, call=0.3))) as served,
        line_to(served.port) as line,
    ):
        wanted = (await call(line)).message["result"]
        await until(lambda: "notifications/cancelled" in methods(log))
        late = await call(line, requestState=wanted["requestState"], inputResponses={"question-0": ACCEPT})
    assert late.message["result"]["isError"] is True


async def test_who_comes_back_and_hangs_up_takes_the_parked_call_back(tmp_path: Path, events: Events):
    log = tmp_path / "log"
    async with serving(asking(log), events=events) as served, line_to(served.port) as line:
        order = {**WHO, "hang": True}
        state = (await call(line, arguments=order)).message["result"]["requestState"]
        async with line_to(served.port) as other:
            waiting = asyncio.ensure_future(
                call(other, arguments=order, requestState=state, inputResponses={"question-0": ACCEPT})
            )
            await until(lambda: any(message.get("id") == "question" for message in received(log)))
        await until(lambda: "notifications/cancelled" in methods(log))
        await until(lambda: len(events.calls) == 1)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


@pytest.mark.parametrize("server", ["old", "new"])
async def test_a_client_may_come_back_by_another_connection(tmp_path: Path, server: str):
    passed = offering(tmp_path, name="new", scenario={"tools/call": [required("s", q=ELICIT), DONE]})
    name, given = ("it_ask", WHO) if server == "old" else ("new_act", {"n": 1})
    async with serving(asking(tmp_path / "it"), passed) as served:
        async with line_to(served.port) as line:
            wanted = (await call(line, name, given)).message["result"]
        (key,) = wanted["inputRequests"]
        answers = {key: {"action": "accept", "content": {"n": 3}}}
        async with line_to(served.port) as line:
            result = await call(line, name, given, requestState=wanted["requestState"], inputResponses=answers)
    assert result.message["result"]["resultType"] == "complete"


@pytest.mark.parametrize("kind", ["parked", "passed on"])
async def test_a_state_that_is_forged_replayed_or_anothers_is_turned_away(tmp_path: Path, kind: str):
    passed = offering(tmp_path, name="new", scenario={"tools/call": [required("s", q=ELICIT), DONE]})
    name, given, key = ("it_ask", WHO, "question-0") if kind == "parked" else ("new_act", {"n": 1}, "q")
    alice, bob = bearer("alice"), bearer("bob")
    async with serving(asking(tmp_path / "it"), passed, auth=AUTH) as served, line_to(served.port) as line:
        first = await call(line, name, given, Authorization=alice)
        state = first.message["result"]["requestState"]
        answers = {key: {"action": "accept", "content": {"n": 3}}}

        async def go_on(token: str, state: str, name: str = name, given: Any = given) -> Answered:
            return await call(line, name, given, Authorization=token, requestState=state, inputResponses=answers)

        refused = [
            await go_on(bob, state),
            await go_on(bearer("alice", "s-2"), state),
            await go_on(alice, state[:-4] + "AAAA"),
            await go_on(alice, "x" + state),
            await go_on(alice, state, given={**given, "more": 1}),
        ]
        good = await go_on(alice, state)
        again = await go_on(alice, state)
    assert [(answer.status, answer.message["error"]["code"]) for answer in refused] == [(400, -32602)] * len(refused)
    assert good.message["result"]["resultType"] == "complete"
    if kind == "parked":
        assert (again.status, again.message["error"]["code"]) == (400, -32602)
    else:
        # Nothing is kept here: what a state is worth a second time is the server's to say, as without us.
        assert again.status == 200
        assert {sent["requestState"] for sent in calls_in(log_of(tmp_path, "new"))[1:]} == {"s"}


# Servers


async def test_a_server_that_asks_without_end_is_refused_and_the_gateway_goes_on(tmp_path: Path):
    async with (
        serving(stand_in("it", "pestering")) as served,
        old_client(served.port) as client,
        client.call("it_pester", number=1000) as messages,
        fail_after(30, "a thousand questions"),
    ):
        asked = 0
        while "method" in (message := await anext(messages)):
            asked += message["method"] == "elicitation/create"
            await client.answer(message, {"action": "accept", "content": {}})
        counts = message["result"]["structuredContent"]
    assert counts["accepted"] == asked <= MOST_ASKED
    assert counts["refused"] == 1000 - asked


async def test_a_server_that_asks_after_its_request_has_ended_is_refused(tmp_path: Path, events: Events):
    log = tmp_path / "log"
    async with serving(asking(log), events=events) as served, old_client(served.port) as client:
        async with client.call("it_ask", late=True, **WHO) as messages:
            (only,) = [message async for message in messages]
        assert only["result"]["content"][0]["text"] == "done"
        await until(lambda: any(message.get("id") == "question" for message in received(log)))
    (refused,) = [message for message in received(log) if message.get("id") == "question"]
    assert refused["error"]["code"] == -32600
    assert events.answers == []


@pytest.mark.parametrize(
    "params",
    [
        {"message": "Go.", "mode": "url", "url": "javascript:alert(1)"},
        {"message": "Go.", "mode": "url", "url": "file:///etc/passwd"},
        {"message": "Who?", "requestedSchema": {"type": "object", "$ref": "https://evil.test/schema"}},
        {"requestedSchema": {"type": "object"}},
    ],
)
async def test_what_must_not_be_put_to_a_person_is_not(tmp_path: Path, params: dict[str, Any]):
    async with (
        serving(asking(tmp_path / "log")) as served,
        old_client(served.port) as client,
        client.call("it_ask", ask="elicitation/create", params=params) as messages,
    ):
        first = await anext(messages)
    assert first["result"]["structuredContent"]["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("offered", "order"),
    [
        ({}, WHO),
        ({"elicitation": {"url": {}}}, WHO),
        ({"elicitation": {"form": {}}}, {"ask": "elicitation/create", "params": {"message": "x", "mode": "url"}}),
        ({"sampling": {}}, {"ask": "sampling/createMessage", "params": {"messages": [], "tools": [{"name": "x"}]}}),
        ({"elicitation": {}}, {"ask": "roots/list", "params": {}}),
        ({"elicitation": {}}, {"ask": "tools/call", "params": {}}),
    ],
)
async def test_what_a_client_does_not_offer_it_is_not_asked(tmp_path: Path, offered: Any, order: Any):
    async with (
        serving(asking(tmp_path / "log")) as served,
        old_client(served.port, offered) as client,
        client.call("it_ask", **order) as messages,
    ):
        first = await anext(messages)
    assert first["result"]["structuredContent"]["error"]["code"] == -32600


async def test_of_two_clients_on_one_link_only_the_one_that_can_is_asked(tmp_path: Path):
    async with (
        serving(asking(tmp_path / "log")) as served,
        old_client(served.port, {}) as mute,
        old_client(served.port) as other,
        other.call("it_ask", **WHO) as messages,
    ):
        question = await anext(messages)
        async with fail_after(10, "the other call"):
            assert await other.answer(question, ACCEPT) == 202
            assert (await anext(messages))["result"]["structuredContent"]["result"] == ACCEPT
        async with mute.call("it_ask", **WHO) as told:
            assert (await anext(told))["result"]["structuredContent"]["error"]["code"] == -32600
