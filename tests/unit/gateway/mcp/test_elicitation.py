"""A client as the respondent of its own request: what it offers, what it is asked, how its answers are read."""

from typing import Any

import pytest

from bascule.core.client_features import Accept, Cancel, Decline, Elicitation, Root, RootsAsked, Sampled, Sampling
from bascule.core.json_types import JsonObject
from bascule.gateway.mcp.elicitation import Asker, NotAnswered, accepted, given, listed, respondent_of, sampled
from bascule.gateway.mcp.notifications import Outlet
from support.links import ALICE

FORM: JsonObject = {"message": "Who?", "requestedSchema": {"type": "object"}}
ADDRESS: JsonObject = {"message": "Go.", "mode": "url", "url": "https://a.test"}


class Questions:
    """What a client was asked, and what it says to that."""

    def __init__(self, answer: Any = None) -> None:
        self.asked: list[tuple[str, JsonObject]] = []
        self._answer = answer

    async def __call__(self, method: str, params: JsonObject) -> Any:
        self.asked.append((method, params))
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.parametrize(
    ("stated", "offered"),
    [
        ({}, {}),
        ({"elicitation": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"form": {}}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"url": {}}}, {"elicitation": {"url": {}}}),
        ({"elicitation": {"form": {}, "url": {}}}, {"elicitation": {"form": {}, "url": {}}}),
        ({"sampling": {"tools": {}, "context": {}}}, {"sampling": {"tools": {}}}),
        ({"sampling": {}, "roots": {"listChanged": True}}, {"sampling": {}, "roots": {}}),
        ({"elicitation": None, "sampling": True, "roots": [], "tasks": {}}, {}),
    ],
)
def test_servers_are_told_no_more_than_a_client_states(stated: JsonObject, offered: JsonObject):
    assert respondent_of(stated, Questions()).capabilities == offered


async def test_each_era_is_asked_in_its_own_words():
    old, new = Questions({"action": "accept"}), Questions({"action": "accept"})
    raw = {**ADDRESS, "task": {"ttl": 5}, "_meta": {"progressToken": 1}}
    for ask, send_away in ((old, Outlet().send_away), (new, None)):
        await Asker(ask, send_away).elicit(Elicitation("it", ALICE, "Go.", "url", url="https://a.test", raw=raw))
    assert new.asked == [("elicitation/create", ADDRESS)]
    ((_, params),) = old.asked
    assert len(params.pop("elicitationId")) > 10
    assert params == ADDRESS


async def test_an_address_has_an_id_of_ours_for_that_of_its_server():
    ask, away = Questions(), list[tuple[str, str]]()

    def send_away(server: str, theirs: str) -> str:
        away.append((server, theirs))
        return "ours"

    raw = {**ADDRESS, "elicitationId": "e-1"}
    await Asker(ask, send_away).elicit(Elicitation("it", ALICE, "Go.", "url", url="https://a.test", raw=raw))
    assert (ask.asked[0][1]["elicitationId"], away) == ("ours", [("it", "e-1")])


async def test_a_client_that_answers_with_an_error_has_said_nothing():
    asker = Asker(Questions(NotAnswered("no")))
    assert await asker.elicit(Elicitation("it", ALICE, "Who?", raw=FORM)) == Decline()
    assert await asker.sample(Sampling("it", ALICE, {"messages": []})) is None
    assert await asker.roots(RootsAsked("it", ALICE)) is None


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ({"action": "accept", "content": {"n": 1}}, Accept({"n": 1})),
        ({"action": "accept"}, Accept({})),
        ({"action": "accept", "content": [1]}, Accept({})),
        ({"action": "decline", "content": {"n": 1}}, Decline()),
        ({"action": "cancel"}, Cancel()),
        ({"action": "perhaps"}, Decline()),
        ({}, Decline()),
    ],
)
def test_what_a_person_said(answer: JsonObject, meant: Any):
    assert accepted(answer) == meant


TEXT = {"type": "text", "text": "Hi."}


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ({"role": "assistant", "content": TEXT, "model": "m"}, Sampled(TEXT, "m", None)),
        ({"role": "assistant", "content": [TEXT], "model": "m", "stopReason": "x"}, Sampled([TEXT], "m", "x")),
        ({"role": "user", "content": TEXT, "model": "m"}, None),
        ({"role": "assistant", "content": "Hi.", "model": "m"}, None),
        ({"role": "assistant", "content": {"text": "Hi."}, "model": "m"}, None),
        ({"role": "assistant", "content": TEXT}, None),
        ({}, None),
    ],
)
def test_what_a_model_wrote(answer: JsonObject, meant: Any):
    assert sampled(answer) == meant


@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ({"roots": [{"uri": "file:///a", "name": "A", "x": 1}, {"uri": "b"}]}, [Root("file:///a", "A"), Root("b")]),
        ({"roots": []}, []),
        ({"roots": [{"name": "A"}]}, None),
        ({"roots": "file:///a"}, None),
        ({}, None),
    ],
)
def test_which_roots_there_are(answer: JsonObject, meant: Any):
    assert listed(answer) == meant


async def test_an_answer_that_was_given_already_fits_every_question():
    respondent = given({"action": "cancel"})
    on_elicit: Any = respondent.on_elicit
    assert await on_elicit(Elicitation("it", ALICE, "Who?")) == Cancel()
    assert set(respondent.capabilities) == {"elicitation", "sampling", "roots"}
