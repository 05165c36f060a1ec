"""Whoever answers: what their callbacks say is checked, and put as the protocol has it."""

import asyncio
from typing import Any

import pytest

from bascule.core.client_features import (
    Accept,
    Cancel,
    Decline,
    Elicitation,
    Respondent,
    Root,
    RootsAsked,
    Sampled,
    Sampling,
)
from bascule.core.errors import ProtocolViolation, Refused
from bascule.runtime.server_requests import respondent as answering
from bascule.runtime.server_requests.parse import ELICIT, ROOTS, SAMPLE
from bascule.runtime.server_requests.respondent import MAX_ANSWER, MOST_ROOTS
from bascule.wire.input_required import Question
from support.links import ALICE
from support.waiting import fail_after

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "Ada"},
        "age": {"type": "integer", "default": 36},
        "score": {"type": "number", "default": 9.5},
        "level": {"type": "string", "enum": ["low", "high"], "default": "high"},
        "known": {"type": "boolean", "default": True},
        "note": {"type": "string"},
    },
}


def elicit(**params: Any) -> Question:
    return Question(ELICIT, {"message": "Who?", "requestedSchema": SCHEMA, **params})


SAMPLING = Question(SAMPLE, {"messages": [{"role": "user"}], "maxTokens": 5})


async def answer(respondent: Respondent, question: Question, limit: float = 10.0) -> Any:
    async with fail_after(20, "an answer"):
        return await answering.answer(respondent, "work", ALICE, question, limit)


async def elicited(answered: Any, **params: Any) -> Any:
    return (await answer(Respondent(lambda _: answered), elicit(**params))).result


# What is offered


def test_what_has_no_callback_is_not_offered():
    def callback(_: Any) -> Any:
        raise AssertionError

    assert Respondent().capabilities == {}
    assert Respondent(on_elicit=callback).capabilities == {"elicitation": {"form": {}, "url": {}}}
    assert Respondent(on_sample=callback).capabilities == {"sampling": {}}
    assert Respondent(on_roots=callback).capabilities == {"roots": {}}


def test_what_is_said_not_to_be_offered_is_not():
    def callback(_: Any) -> Any:
        raise AssertionError

    assert Respondent(callback, forms=False).capabilities == {"elicitation": {"url": {}}}
    assert Respondent(callback, addresses=False).capabilities == {"elicitation": {"form": {}}}
    assert Respondent(on_sample=callback, tools=True).capabilities == {"sampling": {"tools": {}}}


@pytest.mark.parametrize(("question", "callback"), [(elicit(), "on_elicit"), (SAMPLING, "on_sample")])
async def test_without_a_callback_the_refusal_says_what_was_asked_and_what_to_do(question: Question, callback: str):
    with pytest.raises(Refused, match="work asks, before it goes on:") as caught:
        await answer(Respondent(), question)
    assert callback in caught.value.fix


async def test_what_was_never_offered_is_a_violation():
    with pytest.raises(ProtocolViolation, match="'roots/list', which was never offered"):
        await answer(Respondent(lambda _: Decline(), lambda _: None), Question("roots/list", {}))


# Callbacks that give no answer


async def test_a_person_who_does_not_answer_in_time_has_given_no_answer():
    async def never(_: Elicitation) -> Decline:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    answered = await answer(Respondent(never), elicit(), limit=0.01)
    assert answered.result == {"action": "cancel"}


async def test_a_callback_that_raises_declines_and_what_it_raised_stays_here(caplog: pytest.LogCaptureFixture):
    def broken(_: Any) -> Any:
        raise ValueError("password is hunter2")

    answered = await answer(Respondent(broken, broken), elicit())
    assert answered.result == {"action": "decline"}
    with pytest.raises(Refused) as caught:
        await answer(Respondent(broken, broken), SAMPLING)
    assert "hunter2" not in caught.value.message
    assert "the callback for what work asked raised" in caplog.text


# Forms


@pytest.mark.parametrize(("given", "action"), [(Decline(), "decline"), (Cancel(), "cancel")])
async def test_no_is_no(given: Any, action: str):
    assert await elicited(given) == {"action": action}


async def test_fields_that_are_missing_get_the_defaults_of_the_schema():
    result = await elicited(Accept())
    assert result == {
        "action": "accept",
        "content": {"name": "Ada", "age": 36, "score": 9.5, "level": "high", "known": True},
    }


async def test_what_was_given_counts_before_a_default():
    assert (await elicited(Accept({"name": "Bob"})))["content"]["name"] == "Bob"


@pytest.mark.parametrize(
    "given", [Accept({"age": "old"}), Accept({"level": "middle"}), Accept({"note": object()}), {"name": "x"}, "yes"]
)
async def test_an_answer_that_does_not_fit_is_not_sent(given: Any, caplog: pytest.LogCaptureFixture):
    assert await elicited(given) == {"action": "decline"}
    assert caplog.text


async def test_an_answer_that_is_too_large_is_not_sent(caplog: pytest.LogCaptureFixture):
    assert await elicited(Accept({"note": "x" * MAX_ANSWER})) == {"action": "decline"}
    assert "it was not sent" in caplog.text


async def test_the_question_carries_what_was_asked_and_for_whom():
    asked: list[Elicitation] = []
    await answer(Respondent(lambda question: asked.append(question) or Decline()), elicit())
    assert (asked[0].server, asked[0].principal, asked[0].message) == ("work", ALICE, "Who?")
    assert (asked[0].mode, asked[0].schema) == ("form", SCHEMA)


HOSTILE = {
    "no schema": None,
    "not of an object": {"type": "string"},
    "remote": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}},
    "regex": {"type": "object", "properties": {"a": {"type": "string", "pattern": "((a{1,200}){1,200}){1,200}"}}},
    "doubled": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/n30"}},
        "$defs": {
            "n0": {"type": "string"},
            **{f"n{n}": {"anyOf": [{"$ref": f"#/$defs/n{n - 1}"}] * 2} for n in range(1, 31)},
        },
    },
}


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_schema_is_not_put_to_anyone(schema: Any):
    asked: list[Any] = []
    with pytest.raises(ProtocolViolation):
        await answer(Respondent(lambda q: asked.append(q) or Decline()), elicit(requestedSchema=schema))
    assert asked == []


async def test_a_question_without_words_is_not_put_to_anyone():
    with pytest.raises(ProtocolViolation, match="has no message"):
        await elicited(Decline(), message=None)


# Addresses


async def test_a_person_can_agree_to_go_to_an_address_and_nothing_is_told_beside_that():
    result = await elicited(Accept({"secret": 1}), mode="url", url="https://example.test/login")
    assert result == {"action": "accept"}


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "https:", "", None, "https://a\u202eb", "http://[::1"]
)
async def test_an_address_no_browser_should_open_is_not_shown(url: Any):
    with pytest.raises(ProtocolViolation, match="address"):
        await elicited(Accept(), mode="url", url=url)


# Samplings


async def test_a_models_words_travel_as_the_protocol_has_them():
    asked: list[Sampling] = []
    respondent = Respondent(on_sample=lambda question: asked.append(question) or Sampled("Hi.", "quill"))
    answered = await answer(respondent, SAMPLING)
    assert answered.word == "sampled"
    assert answered.result == {
        "role": "assistant",
        "content": {"type": "text", "text": "Hi."},
        "model": "quill",
        "stopReason": "endTurn",
    }
    assert asked == [Sampling("work", ALICE, SAMPLING.params)]


async def test_a_content_block_travels_as_it_is_and_a_reason_only_if_there_is_one():
    block = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    answered = await answer(Respondent(on_sample=lambda _: Sampled(block, "brush", None)), SAMPLING)
    assert answered.result == {"role": "assistant", "content": block, "model": "brush"}


@pytest.mark.parametrize("given", [None, "Hi.", Sampled({"x": object()}, "m"), Sampled("x" * MAX_ANSWER, "m")])
async def test_no_words_and_words_that_cannot_travel_are_refused(given: Any):
    with pytest.raises(Refused, match="got none"):
        await answer(Respondent(on_sample=lambda _: given), SAMPLING)


@pytest.mark.parametrize("params", [{}, {"messages": "hi"}])
async def test_a_sampling_that_is_malformed_is_a_violation(params: dict[str, Any]):
    with pytest.raises(ProtocolViolation, match="a question of work"):
        await answer(Respondent(on_sample=lambda _: Sampled("Hi.", "m")), Question(SAMPLE, params))


async def test_a_model_is_given_tools_only_where_that_is_offered():
    question = Question(SAMPLE, {"messages": [], "tools": [{"name": "x"}]})
    with pytest.raises(ProtocolViolation, match="with tools', which was never offered"):
        await answer(Respondent(on_sample=lambda _: Sampled("Hi.", "m")), question)
    assert (await answer(Respondent(on_sample=lambda _: Sampled("Hi.", "m"), tools=True), question)).word == "sampled"


# Roots


async def test_roots_travel_as_the_protocol_has_them():
    asked: list[RootsAsked] = []
    given = [Root("file:///a", "A"), Root("file:///b")]
    answered = await answer(Respondent(on_roots=lambda q: asked.append(q) or given), Question(ROOTS, {}))
    assert answered.result == {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}
    assert (answered.word, asked) == ("listed", [RootsAsked("work", ALICE)])


@pytest.mark.parametrize(
    "given",
    [None, "file:///a", [{"uri": "file:///a"}], [Root("https://a")], [Root("file:///a")] * (MOST_ROOTS + 1)],
    ids=["none", "text", "no roots", "no file", "too many"],
)
async def test_what_are_no_roots_is_not_sent(given: Any):
    with pytest.raises(Refused, match="got none"):
        await answer(Respondent(on_roots=lambda _: given), Question(ROOTS, {}))
