"""Requests whose server asks for input first, round by round."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule.config import RuntimeConfig, ServerConfig
from bascule.core.client_features import Accept, Continued, Decline, Elicitation, Respondent, Sampled
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.execution.input_rounds import MOST_ROUNDS
from bascule.runtime.execution.wrappers import Wrapped
from bascule.runtime.prepared_call import Prepared, values_of
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from support.offers import DONE, ELICIT, SAMPLE, offering, required
from support.runtime import Events, at_work, bad, calls_in, good, ratchet_of
from support.scenarios import log_of
from support.servers import received
from support.waiting import fail_after


def accept(_: Elicitation) -> Accept:
    return Accept({"n": 3})


@asynccontextmanager
async def wrapped(server: ServerConfig, wrapper: Any) -> AsyncGenerator[AgentSession]:
    made = Runtime(RuntimeConfig(servers={server.name: server}))
    made.wrap("work_act", wrapper)
    async with fail_after(20, "a wrapped call"), made as runtime:
        yield runtime.session("alice", "s-1")


def asking(folder: Path, *answers: Any, method: str = "tools/call") -> Any:
    return offering(folder, scenario={method: [*answers]}, uris=("a://1",), prompts=({"name": "greet"},))


async def test_each_round_answers_what_was_asked_and_echoes_the_state(tmp_path: Path, events: Events):
    state = 'opaque "\t ü \\'
    server = asking(tmp_path, required(state, a=ELICIT, b=SAMPLE), required("two", c=ELICIT), DONE)
    async with at_work(server, events=events, on_elicit=accept, on_sample=lambda _: Sampled("Hi.", "m")) as session:
        outcome = good(await session.call("work_act", {"x": 1}))

    assert outcome.text == "done"
    assert "answer" in outcome.steps
    first, second, third = calls_in(log_of(tmp_path))
    accepted = {"action": "accept", "content": {"n": 3, "unit": "m"}}
    assert (first["name"], first["arguments"], "inputResponses" in first) == ("act", {"x": 1}, False)
    assert (second["requestState"], second["inputResponses"]["a"]) == (state, accepted)
    assert second["inputResponses"]["b"]["content"] == {"type": "text", "text": "Hi."}
    assert (third["requestState"], third["inputResponses"]) == ("two", {"c": accepted})
    assert all(call["arguments"] == {"x": 1} for call in (second, third))
    ids = [message["id"] for message in received(log_of(tmp_path)) if message.get("method") == "tools/call"]
    assert len(set(ids)) == 3
    assert [event.answer for event in events.answers] == ["accept", "sampled", "accept"]
    assert len(events.calls) == 1


async def test_what_can_be_asked_is_declared_in_every_request(tmp_path: Path):
    async with at_work(asking(tmp_path, DONE), on_elicit=accept) as session:
        good(await session.call("work_act"))
    (call,) = calls_in(log_of(tmp_path))
    declared = call["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert declared == {"elicitation": {"form": {}, "url": {}}}


async def test_reading_a_resource_and_filling_in_a_prompt_have_rounds_too(tmp_path: Path):
    content = {"result": {"contents": [], "messages": [], "resultType": "complete"}}
    rounds = [required(None, q=ELICIT), content]
    server = offering(
        tmp_path,
        scenario={"resources/read": rounds, "prompts/get": rounds},
        uris=("a://1",),
        prompts=({"name": "greet"},),
    )
    async with at_work(server, on_elicit=accept) as session:
        assert (await session.read("a://1")).ok
        assert (await session.prompt("work_greet")).ok

    again = [m for m in received(log_of(tmp_path)) if m.get("method") in {"resources/read", "prompts/get"}]
    assert ["inputResponses" in message["params"] for message in again] == [False, True, False, True]


async def test_without_a_callback_the_failure_says_what_was_asked(tmp_path: Path, events: Events):
    async with at_work(asking(tmp_path, required("s", q=ELICIT)), events=events) as session:
        failure = bad(await session.call("work_act"), FailureKind.DENIED)

    assert "work asks, before it goes on: How long?" in failure.message
    assert "on_elicit" in failure.fix
    assert len(calls_in(log_of(tmp_path))) == 1
    assert events.call.outcome is failure


async def test_what_was_never_offered_is_refused(tmp_path: Path):
    server = asking(tmp_path, required("s", q={"method": "roots/list"}))
    async with at_work(server, on_elicit=accept) as session:
        failure = bad(await session.call("work_act"), FailureKind.PROTOCOL_ERROR)

    assert "'roots/list', which was never offered" in failure.message


async def test_questions_without_end_are_given_up(tmp_path: Path):
    async with at_work(asking(tmp_path, required("s", q=ELICIT)), on_elicit=lambda _: Decline()) as session:
        failure = bad(await session.call("work_act"), FailureKind.PROTOCOL_ERROR)

    assert f"in more than {MOST_ROUNDS} rounds" in failure.message
    assert len(calls_in(log_of(tmp_path))) == MOST_ROUNDS + 1


async def test_a_server_that_only_wants_to_be_asked_again_is(tmp_path: Path):
    async with at_work(asking(tmp_path, required("one"), required("two"), DONE)) as session:
        good(await session.call("work_act"))

    calls = calls_in(log_of(tmp_path))
    assert [call.get("requestState") for call in calls] == [None, "one", "two"]
    assert not any("inputResponses" in call for call in calls)


async def test_a_server_that_wants_it_for_ever_ends_with_the_time_of_the_request(tmp_path: Path):
    async with at_work(asking(tmp_path, required("again"))) as session:
        failure = bad(await session.call("work_act", timeout=0.3), FailureKind.TIMEOUT)

    assert "the 0.3 s of the request were over" in failure.message
    assert len(calls_in(log_of(tmp_path))) < 20


async def test_a_person_who_takes_too_long_ends_with_the_time_of_the_request(tmp_path: Path):
    async def never(_: Elicitation) -> Accept:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async with at_work(asking(tmp_path, required("s", q=ELICIT)), on_elicit=never) as session:
        failure = bad(await session.call("work_act", timeout=0.2), FailureKind.TIMEOUT)

    assert "longer `timeout`" in failure.fix
    assert len(calls_in(log_of(tmp_path))) == 1


async def test_a_round_after_private_data_came_in_is_decided_anew_and_refused(tmp_path: Path):
    sessions: list[AgentSession] = []

    async def thinking(_: Elicitation) -> Accept:
        ratchet_of(sessions[0]).hold(DataSensitivity.SECRET, "seen in a test")
        return Accept({"n": 3})

    async with at_work(asking(tmp_path, required("s", q=ELICIT), DONE), on_elicit=thinking) as session:
        sessions.append(session)
        failure = bad(await session.call("work_act"), FailureKind.DENIED)

    assert "has seen secret data" in failure.message
    assert len(calls_in(log_of(tmp_path))) == 1


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"resultType": "input_required"}, "neither inputRequests nor requestState"),
        ({"resultType": "input_required", "requestState": "x" * 300_000}, "requestState has 300,000 characters"),
        ({"resultType": "input_required", "inputRequests": {str(n): ELICIT for n in range(1000)}}, "1,000 questions"),
    ],
    ids=["nothing", "state", "many"],
)
async def test_what_goes_beyond_bounds_is_not_put_to_anyone(tmp_path: Path, asked: Any, says: str):
    put: list[Any] = []
    server = asking(tmp_path, {"result": asked})
    async with at_work(server, on_elicit=lambda question: put.append(question) or Decline()) as session:
        failure = bad(await session.call("work_act"), FailureKind.PROTOCOL_ERROR)

    assert says in failure.message
    assert failure.cause == asked
    assert put == []


# Requests that bring their own respondent


async def test_a_request_is_answered_by_its_own_respondent_and_says_what_that_offers(tmp_path: Path, events: Events):
    server = asking(tmp_path, required("s", q=ELICIT), DONE)
    async with at_work(server, events=events, on_sample=lambda _: None) as session:
        good(await session.call("work_act", respondent=Respondent(accept, addresses=False)))
        good(await session.call("work_act"))

    first, second, third = calls_in(log_of(tmp_path))
    declared = [call["_meta"]["io.modelcontextprotocol/clientCapabilities"] for call in (first, second, third)]
    assert declared == [{"elicitation": {"form": {}}}] * 2 + [{"sampling": {}}]
    assert second["inputResponses"]["q"]["content"] == {"n": 3, "unit": "m"}


@pytest.mark.parametrize("respondent", [Respondent(on_sample=lambda _: None), Respondent(accept, forms=False)])
async def test_what_its_respondent_does_not_offer_is_not_asked_of_others(tmp_path: Path, respondent: Respondent):
    asked: list[Elicitation] = []
    server = asking(tmp_path, required("s", q=ELICIT), DONE)
    async with at_work(server, on_elicit=lambda question: asked.append(question) or Decline()) as session:
        assert not (await session.call("work_act", respondent=respondent)).ok

    assert asked == []


PASSES_ON = Respondent(accept, passes_on=True)


async def test_questions_are_passed_on_where_they_are_answered_by_another_request(tmp_path: Path, events: Events):
    server = asking(tmp_path, required("s", q=ELICIT), DONE)
    async with at_work(server, events=events) as session:
        failure = bad(await session.call("work_act", {"x": 1}, respondent=PASSES_ON), FailureKind.TOOL_ERROR)

    assert (failure.code, failure.server, failure.tool, failure.retriable) == ("BSC-409", "work", "act", False)
    assert failure.asks
    assert failure.cause["inputRequests"] == {"q": ELICIT}
    assert events.call.outcome is failure
    assert events.answers == []


@pytest.mark.parametrize(
    "question",
    [
        SAMPLE,
        {"method": "roots/list"},
        {"method": "elicitation/create", "params": {"message": "Go.", "mode": "url", "url": "javascript:x"}},
        {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {"$ref": "https://x.test"}}},
    ],
)
async def test_what_could_not_be_put_to_anyone_is_not_passed_on(tmp_path: Path, question: Any):
    async with at_work(asking(tmp_path, required("s", a=ELICIT, b=question))) as session:
        outcome = await session.call("work_act", respondent=PASSES_ON)

    assert isinstance(outcome, ToolFailure)
    assert not outcome.asks


def going_on(said: Any, tool: str = "act", rounds: int = 1) -> Respondent:
    """Whoever comes back with an answer."""
    given = {"q": Respondent(lambda _: said), "nobody asked": Respondent(lambda _: said)}
    return Respondent(accept, passes_on=True, continued=Continued("work", tool, "s", {"q": ELICIT}, given, rounds))


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        (Accept({"n": 3}), {"action": "accept", "content": {"n": 3, "unit": "m"}}),
        (Accept({"n": "x"}), {"action": "decline"}),
        (Decline(), {"action": "decline"}),
    ],
)
async def test_a_request_goes_on_with_answers_that_are_checked_and_told(
    tmp_path: Path, events: Events, said: Any, sent: Any
):
    async with at_work(asking(tmp_path, DONE), events=events) as session:
        good(await session.call("work_act", {"x": 1}, respondent=going_on(said)))

    (call,) = calls_in(log_of(tmp_path))
    assert (call["requestState"], call["inputResponses"], call["arguments"]) == ("s", {"q": sent}, {"x": 1})
    assert [event.answer for event in events.answers] == [sent["action"]]


async def test_answers_to_one_tool_do_not_go_to_another(tmp_path: Path):
    async with at_work(asking(tmp_path, DONE)) as session:
        bad(await session.call("work_act", respondent=going_on(Decline(), "other")), FailureKind.INVALID_ARGUMENTS)

    assert calls_in(log_of(tmp_path)) == []


async def test_rounds_that_are_passed_on_come_to_an_end_too(tmp_path: Path):
    async with at_work(asking(tmp_path, required("s", q=ELICIT))) as session:
        respondent = going_on(Decline(), rounds=MOST_ROUNDS)
        failure = bad(await session.call("work_act", respondent=respondent), FailureKind.PROTOCOL_ERROR)

    assert f"in more than {MOST_ROUNDS} rounds" in failure.message


async def test_what_a_wrapper_asks_for_is_answered_at_once(tmp_path: Path):
    async def around(tool: Wrapped, arguments: Any) -> Any:
        return await tool(arguments)

    async with wrapped(asking(tmp_path, required("s", q=ELICIT), DONE), around) as session:
        good(await session.call("work_act", respondent=PASSES_ON))

    assert calls_in(log_of(tmp_path))[-1]["inputResponses"]["q"]["action"] == "accept"


async def test_what_was_answered_is_not_among_the_values_of_a_request():
    params = {"uri": "a://1", "inputResponses": {"q": {"content": {"password": "x"}}}, "requestState": "s"}
    assert values_of(Prepared("resources/read", "work", params)) == {"uri": "a://1"}
