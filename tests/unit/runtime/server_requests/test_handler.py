"""What becomes of a question: decided, put, recorded, answered under the permit of its agent session."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bascule.core.client_features import Accept, Decline, Elicitation, Respondent, Root
from bascule.core.errors import PeerRefused, PermitLost
from bascule.core.request import Permit
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.records.recorder import Recorder
from bascule.runtime.server_requests.handler import Answering
from bascule.runtime.server_requests.parse import ELICIT, ROOTS, SAMPLE
from bascule.runtime.session_context import Standing
from bascule.upstream.key import LinkKey
from support.links import ALICE, BOB
from support.runtime import Events, obeying, roster_of, running

ASKED: dict[str, Any] = {"message": "Who?", "requestedSchema": {"type": "object"}}


class AsLink(msgspec.Struct, frozen=True, weakref=True):
    """As much of a link as a question shows."""

    key: LinkKey

    async def notify(self, method: str, permit: Permit | None) -> None:
        raise AssertionError


LINK = AsLink(LinkKey("work", Lane.OPEN, ALICE))


class Scene:
    """Whoever answers, and one agent session."""

    def __init__(
        self, standing: Standing, respondent: Respondent, events: Events, *, for_clients: bool = False
    ) -> None:
        self.standing = standing
        known = {ALICE: standing}.get
        recorder = Recorder([events.append])
        self.answering = Answering(respondent, recorder, lambda: 7.0, known, for_clients=for_clients)


@pytest.fixture
def accepting() -> Respondent:
    return Respondent(lambda _: Accept({"n": 1}))


async def test_an_answer_carries_the_permit_of_its_session_and_leaves_one_event(
    log: Path, events: Events, accepting: Respondent
):
    async with running(obeying(log)) as runtime:
        scene = Scene(Standing(ALICE, roster_of(runtime)), accepting, events)
        response = await scene.answering.respond(LINK, ELICIT, ASKED)

    assert response.result == {"action": "accept", "content": {"n": 1}}
    assert response.permit is not None
    assert response.permit.valid()
    scene.standing.ratchet.hold(DataSensitivity.CONFIDENTIAL, "seen in a test")
    assert not response.permit.valid()
    (event,) = events.answers
    assert (event.method, event.server, event.principal, event.lane) == (ELICIT, "work", ALICE, Lane.OPEN)
    assert (event.answer, event.reason, event.at) == ("accept", "", 7.0)


async def test_private_data_that_comes_in_while_a_person_thinks_takes_the_permit_away(log: Path, events: Events):
    async with running(obeying(log)) as runtime:
        standing = Standing(ALICE, roster_of(runtime))

        async def thinking(_: Elicitation) -> Accept:
            standing.ratchet.hold(DataSensitivity.CONFIDENTIAL, "seen in a test")
            return Accept({"secret": "s"})

        response = await Scene(standing, Respondent(thinking), events).answering.respond(LINK, ELICIT, ASKED)

    assert response.permit is not None
    assert not response.permit.valid()


async def test_a_session_that_has_seen_private_data_answers_nothing_at_all(
    log: Path, events: Events, accepting: Respondent
):
    async with running(obeying(log)) as runtime:
        scene = Scene(Standing(ALICE, roster_of(runtime)), accepting, events)
        scene.standing.ratchet.hold(DataSensitivity.CONFIDENTIAL, "seen in a test")
        with pytest.raises(PermitLost):
            await scene.answering.respond(LINK, ELICIT, ASKED)

    assert events.answers == []


@pytest.mark.parametrize(
    ("link", "method"),
    [(LINK, ROOTS), (LINK, SAMPLE), (AsLink(LinkKey("work", Lane.OPEN, BOB)), ELICIT)],
    ids=["never offered", "no callback", "nobody's session"],
)
async def test_what_nobody_answers_is_not_offered(
    log: Path, events: Events, accepting: Respondent, link: AsLink, method: str
):
    async with running(obeying(log)) as runtime:
        scene = Scene(Standing(ALICE, roster_of(runtime)), accepting, events)
        with pytest.raises(PeerRefused, match="is not offered by this client") as caught:
            await scene.answering.respond(link, method, ASKED)

    assert caught.value.rpc_code == -32601


async def test_a_bad_question_and_a_refused_one_are_told_apart(log: Path, events: Events):
    async with running(obeying(log)) as runtime:
        respondent = Respondent(lambda _: Decline(), lambda _: None)
        scene = Scene(Standing(ALICE, roster_of(runtime)), respondent, events)
        codes: list[int] = []
        for method, params in ((ELICIT, {}), (SAMPLE, {"messages": []})):
            with pytest.raises(PeerRefused) as caught:
                await scene.answering.respond(LINK, method, params)
            codes.append(caught.value.rpc_code)

    assert codes == [-32602, -32603]
    assert [(event.answer, bool(event.reason)) for event in events.answers] == [("refused", True)] * 2


async def test_a_question_that_is_withdrawn_is_recorded_too(log: Path, events: Events):
    asked = asyncio.Event()

    async def thinking(_: Elicitation) -> Accept:
        asked.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async with running(obeying(log)) as runtime:
        scene = Scene(Standing(ALICE, roster_of(runtime)), Respondent(thinking), events)
        waiting = asyncio.create_task(scene.answering.respond(LINK, ELICIT, ASKED))
        await asked.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert [(event.answer, event.reason) for event in events.answers] == [("refused", "the server stopped waiting")]


def test_without_callbacks_nothing_is_offered_and_nobody_listens(events: Events):
    answering = Answering(Respondent(), Recorder(), lambda: 0.0, {}.get)
    assert (answering.reception.capabilities, answering.reception.answer) == ({}, None)


def test_where_requests_bring_their_respondents_the_old_era_is_offered_everything_and_the_new_one_nothing():
    reception = Answering(Respondent(), Recorder(), lambda: 0.0, {}.get, for_clients=True).reception
    assert reception.capabilities == {}
    assert reception.offered == {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}}
    assert reception.answer is not None


async def asked_during(scene: Scene, own: Respondent, *questions: tuple[str, Any]) -> list[Any]:
    """What a server gets that asks on a link while a request with its own respondent is on it."""
    answers: list[Any] = []
    with scene.answering._under_way.during(LINK, own):
        for method, params in questions:
            answers.append((await scene.answering.respond(LINK, method, params)).result)
    return answers


async def test_a_request_under_way_answers_for_itself(log: Path, events: Events, accepting: Respondent):
    async with running(obeying(log)) as runtime:
        scene = Scene(Standing(ALICE, roster_of(runtime)), accepting, events)
        own = Respondent(lambda _: Decline(), on_roots=lambda _: [Root("file:///a")])
        answers = await asked_during(scene, own, (ELICIT, ASKED), (ROOTS, {}))
        after = await scene.answering.respond(LINK, ELICIT, ASKED)

    assert answers == [{"action": "decline"}, {"roots": [{"uri": "file:///a"}]}]
    assert after.result["action"] == "accept"


async def test_nobody_is_asked_once_the_request_is_over(log: Path, events: Events):
    async with running(obeying(log)) as runtime:
        scene = Scene(Standing(ALICE, roster_of(runtime)), Respondent(), events, for_clients=True)
        await asked_during(scene, Respondent(lambda _: Decline()), (ELICIT, ASKED))
        with pytest.raises(PeerRefused, match="no request under way has a client that answers it"):
            await scene.answering.respond(LINK, ELICIT, ASKED)


async def test_on_another_link_of_the_same_key_a_request_is_not_asked(log: Path, events: Events):
    class Another(AsLink, frozen=True):
        """One that is not the same, though its key is."""

    another = Another(LINK.key)
    async with running(obeying(log)) as runtime:
        scene = Scene(Standing(ALICE, roster_of(runtime)), Respondent(), events, for_clients=True)
        with (
            scene.answering._under_way.during(LINK, Respondent(lambda _: Decline())),
            pytest.raises(PeerRefused, match="can be asked of nobody"),
        ):
            await scene.answering.respond(another, ELICIT, ASKED)
