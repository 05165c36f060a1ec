"""What clients keep for us between two requests, and what they may do with it."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bascule.core.client_features import Elicitation, Respondent
from bascule.core.json_types import JsonObject
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.principal import Principal
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp import input_rounds as module
from bascule.gateway.mcp.client import Listener
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.input_rounds import LIFE, Rounds
from bascule.identity.signed_state import Seal
from support.links import ALICE, BOB
from support.offers import ELICIT, SAMPLE
from support.waiting import fail_after

QUESTION = Elicitation("work", ALICE, "Who?")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Visitor:
    """The other end of a request."""

    streams = True
    level = ""
    capabilities: Mapping[str, Any] = {"elicitation": {}, "sampling": {}}

    def __init__(self) -> None:
        self.got: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()

    async def tell(self, method: str, params: JsonObject) -> None:
        raise AssertionError

    async def ask(self, method: str, params: JsonObject) -> Any:
        return {"action": "cancel"}

    def send_away(self, server: str, theirs: str) -> str:
        raise AssertionError

    async def let_go(self, result: JsonObject) -> None:
        self.got.set_result(result)

    def give_up(self) -> None:
        raise AssertionError


def asked(*, new: bool = True, **params: Any) -> Asked:
    return Asked("tools/call", {"name": "work_act", "arguments": {"n": 1}, **params}, 1, {}, new)


def wanted(state: str | None = "theirs", **questions: Any) -> ToolFailure:
    """What a server of the new era asks, as the executor gives it back."""
    raw = {"resultType": "input_required", "inputRequests": questions or {"q": ELICIT}, "requestState": state}
    return ToolFailure(FailureKind.TOOL_ERROR, "BSC-409", "asks", "work", "act", cause=raw)


async def said_by(respondent: Respondent) -> Any:
    on_elicit: Any = respondent.on_elicit
    return await on_elicit(QUESTION)


class Scene:
    """The clients of one principal, and what becomes of the requests that get through."""

    def __init__(self, folder: Path, principal: Principal = ALICE) -> None:
        self.clock = Clock()
        self.rounds = Rounds(principal, Seal(folder, self.clock), lambda question: question)
        self.carried: list[Respondent] = []

    async def carry(self, asked: Asked, _client: Listener | None, respondent: Respondent | None) -> JsonObject:
        assert respondent is not None
        self.carried.append(respondent)
        if respondent.continued is None:
            return self.rounds.passed_on(asked, wanted(), respondent)
        return {"content": []}

    async def serve(self, asked: Asked) -> Any:
        return await self.rounds.serve(asked, Visitor(), self.carry)


async def test_questions_pass_through_with_all_that_is_needed_to_go_on(tmp_path: Path):
    scene, other = Scene(tmp_path), Scene(tmp_path)
    result = await scene.serve(asked())
    assert (result["resultType"], result["inputRequests"]) == ("input_required", {"q": ELICIT})
    state = result["requestState"]
    # Another process of the same state folder can go on.
    assert await other.serve(asked(requestState=state, inputResponses={"q": {"action": "cancel"}, "x": 1})) == {
        "content": []
    }
    continued = other.carried[0].continued
    assert continued is not None
    assert (continued.server, continued.tool, continued.state, continued.rounds) == ("work", "act", "theirs", 1)
    assert continued.questions == {"q": ELICIT}
    assert [*continued.answers] == ["q"]


async def test_rounds_are_counted_across_requests(tmp_path: Path):
    scene = Scene(tmp_path)
    respondent = Respondent()
    for expected in range(1, 4):
        result = scene.rounds.passed_on(asked(), wanted(q=SAMPLE), respondent)
        await scene.serve(asked(requestState=result["requestState"]))
        respondent = scene.carried[-1]
        assert respondent.continued is not None
        assert respondent.continued.rounds == expected


@pytest.mark.parametrize(
    ("principal", "changed"),
    [
        (BOB, {}),
        (Principal(ALICE.user_id, "another"), {}),
        (ALICE, {"name": "work_other"}),
        (ALICE, {"arguments": {"n": 2}}),
    ],
    ids=["another's", "another session's", "another tool's", "other arguments"],
)
async def test_a_state_is_for_one_request_of_one_principal(
    tmp_path: Path, principal: Principal, changed: dict[str, Any]
):
    state = (await Scene(tmp_path).serve(asked()))["requestState"]
    scene = Scene(tmp_path, principal)
    with pytest.raises(Rejected, match="requestState is none that was given") as caught:
        await scene.serve(asked(requestState=state, **changed))
    assert (caught.value.code, caught.value.status) == (-32602, 400)
    assert scene.carried == []


async def test_a_state_that_was_made_up_changed_or_kept_too_long_is_turned_away(tmp_path: Path):
    scene = Scene(tmp_path)
    state = (await scene.serve(asked()))["requestState"]
    content = msgspec.json.encode({"until": 9e9, "content": {"for": "x", "parked": "guessed"}}).hex()
    for bad in (5, "", "made up", content, state[:-2], state.replace(state[10], "x" if state[10] != "x" else "y")):
        with pytest.raises(Rejected, match="requestState is none"):
            await scene.serve(asked(requestState=bad))
    scene.clock.now = LIFE
    with pytest.raises(Rejected, match="requestState is none"):
        await scene.serve(asked(requestState=state))


@pytest.mark.parametrize("answers", [[], "x", {str(n): {} for n in range(17)}])
async def test_answers_are_an_object_of_a_few(tmp_path: Path, answers: Any):
    scene = Scene(tmp_path)
    state = (await scene.serve(asked()))["requestState"]
    with pytest.raises(Rejected, match="inputResponses must be an object"):
        await scene.serve(asked(requestState=state, inputResponses=answers))


async def test_answers_to_other_questions_are_let_be_and_those_to_all_that_is_asked_are_used(tmp_path: Path):
    scene = Scene(tmp_path)
    result = await scene.serve(asked(inputResponses={"other": {"action": "accept"}}))
    assert result["resultType"] == "input_required"
    assert [each.continued is None for each in scene.carried] == [True]
    await scene.serve(asked(inputResponses={"q": {"action": "accept"}}))
    assert [each.continued is None for each in scene.carried] == [True, True, False]


async def test_more_than_can_be_carried_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LONGEST", 100)
    with pytest.raises(Rejected, match="more than can be carried"):
        await Scene(tmp_path).serve(asked())


async def test_a_request_that_waits_in_the_middle_is_parked_and_fetched_once(tmp_path: Path):
    scene, client = Scene(tmp_path), Visitor()
    answered: list[Any] = []

    async def carry(_asked: Asked, _client: Listener | None, respondent: Respondent | None) -> JsonObject:
        assert respondent is not None
        assert respondent.on_roots is None
        answered.append(await said_by(respondent))
        raise Rejected(-32602, "in the end")

    serving = asyncio.ensure_future(scene.rounds.serve(asked(), client, carry))
    async with fail_after(10, "a question"):
        state = (await client.got)["requestState"]
    again = asked(requestState=state, inputResponses={"question-0": {"action": "cancel"}})
    with pytest.raises(Rejected, match="in the end"):
        await scene.serve(again)
    with pytest.raises(Rejected, match="in the end"):
        await serving
    with pytest.raises(Rejected, match="it was used"):
        await scene.serve(again)
    assert len(answered) == 1


async def test_a_client_of_the_old_era_is_asked_itself(tmp_path: Path):
    async def carry(_asked: Asked, _client: Listener | None, respondent: Respondent | None) -> JsonObject:
        assert respondent is not None
        assert not respondent.passes_on
        return {"said": type(await said_by(respondent)).__name__}

    served = await Scene(tmp_path).rounds.serve(asked(new=False), Visitor(), carry)
    assert json.dumps(served) == '{"said": "Cancel"}'
