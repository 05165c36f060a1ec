"""What servers say of how private their results are: liars change nothing, and who is trusted is never understood too
low."""

from pathlib import Path
from typing import Any

import pytest

from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.sensitivity import DataSensitivity
from support.offers import DONE, ELICIT, life, required, result
from support.runtime import Events, a_tool, at_work, bad, good, running, well
from support.spies import CARRIERS, LABELS, WORDS, answer, spying

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
TRUSTED: dict[str, Any] = {"trust": ("labels",)}


@pytest.fixture(params=CARRIERS)
def carrier(request: pytest.FixtureRequest) -> str:
    return request.param


async def level_after(carrier: str, folder: Path, reply: dict[str, Any], **word: Any) -> DataSensitivity:
    """How private an agent session is after one call with this reply; then nothing goes out, if it is private."""
    scenario = {"tools/call": [reply, answer()]}
    async with spying(carrier, folder, scenario, **word) as loose, at_work(loose.config) as session:
        await session.call("loose_act")
        level = session.sensitivity
        outcome = await session.call("loose_act", {"text": WORDS})
        assert isinstance(outcome, ToolFailure) == (level >= CONFIDENTIAL)
        assert (WORDS.encode() in loose.heard) == (level < CONFIDENTIAL)
    return level


@pytest.mark.parametrize("level", DataSensitivity)
async def test_a_label_of_a_trusted_server_raises_to_its_level(carrier: str, level: DataSensitivity, tmp_path: Path):
    assert await level_after(carrier, tmp_path, answer(level.name.lower()), **TRUSTED) is level


@pytest.mark.parametrize("trust", [(), ("permissions", "annotations", "fatal")])
async def test_a_label_of_any_other_server_is_a_finding_and_raises_nothing(
    carrier: str, trust: Any, tmp_path: Path, events: Events
):
    scenario = {"tools/call": [answer("secret")]}
    async with (
        spying(carrier, tmp_path, scenario, trust=trust) as loose,
        at_work(loose.config, events=events) as session,
    ):
        good(await session.call("loose_act"))

        assert (session.sensitivity, session.receipts) == (PUBLIC, ())
    assert events.call.findings == ("loose labels its result SECRET, and is not trusted for labels",)


MALFORMED: dict[str, Any] = {
    "unknown": ["ultra"],
    "unknown beside a known one": ["public", "ultra"],
    "nested": [["public"]],
    "an object in the list": [{"level": "public"}],
    "null in the list": [None],
    "null": None,
    "no list": "public",
    "an object": {"public": True},
    "a number": 0,
    "none at all": [],
    "with blanks": [" public"],
    "of another alphabet": ["рublic"],
}


@pytest.mark.parametrize("labels", MALFORMED.values(), ids=MALFORMED)
async def test_what_a_trusted_server_says_and_nobody_understands_is_secret(labels: Any, tmp_path: Path):
    reply = answer(_meta={LABELS: labels})
    assert await level_after("stdio", tmp_path, reply, **TRUSTED) is SECRET


@pytest.mark.parametrize("meta", [["secret"], "public", 7], ids=repr)
async def test_where_labels_cannot_be_looked_for_the_result_is_secret(carrier: str, meta: Any, tmp_path: Path):
    assert await level_after(carrier, tmp_path, answer(_meta=meta), **TRUSTED) is SECRET


@pytest.mark.parametrize("reply", [answer(_meta=None), answer(_meta={}), answer(_meta={"other": ["secret"]})])
async def test_without_a_word_on_it_nothing_is_raised(carrier: str, reply: dict[str, Any], tmp_path: Path):
    assert await level_after(carrier, tmp_path, reply, **TRUSTED) is PUBLIC


MARKED = {"_meta": {LABELS: ["secret"]}}


async def test_a_label_on_a_resource_a_prompt_and_a_completion_raises(carrier: str, tmp_path: Path):
    scenario = life(
        uris=("note://a",),
        templates=("note://{what}",),
        prompts=({"name": "greet", "arguments": [{"name": "name"}]},),
        scenario={
            "resources/read": [result(contents=[{"uri": "note://a", "text": WORDS}], **MARKED)],
            "prompts/get": [result(messages=[], **MARKED)],
            "completion/complete": [result(completion={"values": [WORDS]}, **MARKED)],
        },
    )
    async with spying(carrier, tmp_path, scenario, **TRUSTED) as loose, running(loose.config) as runtime:
        reader, filler, completer = (runtime.session("alice", f"s-{n}") for n in range(3))
        assert well(await reader.read("note://a")).text == WORDS
        well(await filler.prompt("loose_greet", {"name": "a"}))
        well(await completer.complete("note://{what}", "what", "a"))

        for session in (reader, filler, completer):
            assert session.sensitivity is SECRET
            bad(await session.call("loose_act", {"text": WORDS}), FailureKind.DENIED)
            bad(await session.read(f"note://{WORDS}"), FailureKind.DENIED)
        assert WORDS.encode() not in loose.heard


async def test_a_label_in_the_data_of_an_error_raises_and_the_receipt_says_so(carrier: str, tmp_path: Path):
    error = {"error": {"code": -1, "message": WORDS, "data": {"row": WORDS, **MARKED}}}
    async with (
        spying(carrier, tmp_path, {"tools/call": [error]}, **TRUSTED) as loose,
        at_work(loose.config) as session,
    ):
        failure = bad(await session.call("loose_act"), FailureKind.TOOL_ERROR)

        assert (failure.message, session.sensitivity) == (WORDS, SECRET)
        assert [receipt.cause.by for receipt in session.receipts] == ["label"]


async def test_a_result_that_breaks_its_promise_is_labelled_all_the_same(carrier: str, tmp_path: Path):
    tool = a_tool("act", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}})
    scenario = {
        "tools/list": [result(tools=[tool])],
        "tools/call": [answer("secret", structuredContent={"n": WORDS})],
    }
    async with spying(carrier, tmp_path, scenario, **TRUSTED) as loose, at_work(loose.config) as session:
        failure = bad(await session.call("loose_act"), FailureKind.PROTOCOL_ERROR)

        assert failure.cause["structuredContent"] == {"n": WORDS}
        assert session.sensitivity is SECRET


async def test_a_question_before_the_result_is_labelled_too(carrier: str, tmp_path: Path):
    """What it asks may be the data, and whoever is asked may not be told before."""
    levels: list[DataSensitivity] = []
    asking = required("state", q=ELICIT)
    asking["result"] |= MARKED
    async with (
        spying(carrier, tmp_path, {"tools/call": [asking, DONE]}, **TRUSTED) as loose,
        at_work(loose.config, on_elicit=lambda _: levels.append(session.sensitivity)) as session,  # type: ignore[arg-type]
    ):
        bad(await session.call("loose_act"), FailureKind.DENIED)

        assert levels == [SECRET]
        assert len(loose.asked("tools/call")) == 1
