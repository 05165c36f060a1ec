"""Private data that wants out in an answer: a server asks, and by the time somebody answers the lane is closed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bascule.core.client_features import Accept, Elicitation, Sampled, Sampling
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity, Lane
from support.handed_over import HandedOver, handed_over
from support.offers import DONE, ELICIT, SAMPLE, required
from support.runtime import Events, at_work, bad, good, stand_in, twinned
from support.servers import received
from support.spies import CARRIERS, WORDS, spying
from support.waiting import fail_after

SECRET = DataSensitivity.SECRET
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
WANTED = {"method": "elicitation/create", "params": {"message": "What is it?", "requestedSchema": SCHEMA}}
WANTED_OF_A_MODEL = {"method": SAMPLE["method"], "params": SAMPLE["params"]}


@pytest.fixture
def counted() -> Iterator[HandedOver]:
    with handed_over() as counting:
        yield counting


class Person:
    """Somebody who is asked, and answers with the words when a test lets them."""

    def __init__(self) -> None:
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, _: Elicitation) -> Accept:
        await self._wait()
        return Accept({"text": WORDS})

    async def as_model(self, _: Sampling) -> Sampled:
        await self._wait()
        return Sampled(WORDS, "quill")

    async def _wait(self) -> None:
        self.asked.set()
        await self.go.wait()

    async def until_asked(self) -> None:
        async with fail_after(15, "the question"):
            await self.asked.wait()


QUESTIONS = [pytest.param(WANTED, id="of a person"), pytest.param(WANTED_OF_A_MODEL, id="of a model")]


@pytest.mark.parametrize("question", QUESTIONS)
async def test_an_answer_is_not_sent_to_a_server_whose_lane_was_closed_while_somebody_thought(
    question: Any, tmp_path: Path, counted: HandedOver, events: Events
):
    """The old era: the server asks in the middle of a call, and waits for an answer."""
    person, log = Person(), tmp_path / "log"
    server = stand_in("loose", "asking", log)
    async with at_work(server, events=events, on_elicit=person, on_sample=person.as_model) as session:
        order = {"ask": question["method"], "params": question["params"]}
        call = asyncio.create_task(session.call("loose_ask", order))
        await person.until_asked()
        await session.add_private_dataset("payroll", SECRET)
        counted.pieces.clear()
        person.go.set()
        failure = bad(await call, FailureKind.CONNECTION_ERROR)

        assert failure.code == "BSC-408"
        assert counted.pieces == []
    assert WORDS not in log.read_text()
    assert [message for message in received(log) if message.get("id") == "question"] == []


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_round_of_questions_does_not_go_on_where_the_lane_was_closed_meanwhile(
    carrier: str, question: Any, tmp_path: Path, counted: HandedOver
):
    """The new era: the call is over, and the answers would travel with the next one."""
    person = Person()
    scenario = {"tools/call": [required("state", q=question), DONE]}
    async with (
        spying(carrier, tmp_path, scenario) as loose,
        at_work(loose.config, on_elicit=person, on_sample=person.as_model) as session,
    ):
        call = asyncio.create_task(session.call("loose_act"))
        await person.until_asked()
        await session.add_private_dataset("payroll", SECRET)
        counted.pieces.clear()
        person.go.set()
        failure = bad(await call, FailureKind.DENIED)

        assert "rule: data_stays_in" in failure.evidence
        assert counted.pieces == []
        assert len(loose.asked("tools/call")) == 1


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_round_of_questions_goes_on_at_the_twin(carrier: str, tmp_path: Path):
    person = Person()
    async with (
        spying(carrier, tmp_path, {"tools/call": [required("state", q=WANTED)]}) as loose,
        spying("stdio", tmp_path, name="twin") as twin,
        at_work(twinned(loose.config, twin.config), on_elicit=person) as session,
    ):
        call = asyncio.create_task(session.call("loose_act"))
        await person.until_asked()
        await session.add_private_dataset("payroll", SECRET)
        person.go.set()

        assert good(await call).lane is Lane.SEALED
        assert WORDS.encode() not in loose.heard
        (sent,) = twin.asked("tools/call")
        assert sent["inputResponses"]["q"]["content"] == {"text": WORDS}


@pytest.mark.parametrize("method", ["roots/list", "sampling/createMessage", "elicitation/create", "no/such"])
async def test_what_was_never_offered_is_answered_with_nothing_of_ours(method: str, tmp_path: Path):
    """A server of the old era asks for folders, for a model, for a person: nobody gave a callback for any of it."""
    log = tmp_path / "log"
    async with at_work(stand_in("loose", "asking", log)) as session:
        outcome = good(await session.call("loose_ask", {"ask": method, "params": ELICIT["params"]}))

    assert outcome.structured["error"]["code"] == -32601
    assert "result" not in outcome.structured
    assert str(tmp_path) not in str(outcome.structured)


async def test_a_question_of_a_closed_lane_is_put_to_nobody(tmp_path: Path):
    """The server is a twin now, which may ask; the one on the open lane is gone."""
    asked: list[Any] = []

    def person(question: Elicitation) -> Accept:
        asked.append(question)
        return Accept({"text": WORDS})

    logs = [tmp_path / "open", tmp_path / "twin"]
    server = twinned(*(stand_in("work", "asking", log) for log in logs))
    async with at_work(server, on_elicit=person) as session:
        await session.connect()
        await session.add_private_dataset("payroll", SECRET)
        order = {"ask": WANTED["method"], "params": WANTED["params"]}
        answered = good(await session.call("work_ask", order))

        assert (answered.lane, answered.structured["result"]["action"]) == (Lane.SEALED, "accept")
    assert len(asked) == 1
    assert WORDS not in logs[0].read_text()
    assert WORDS in logs[1].read_text()
