"""Servers that ask a person or a model something before they answer: by callbacks in both eras, refused by default."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from bascule import Accept, Cancel, Decline, Elicitation, Runtime, Sampled, Sampling
from bascule.core.client_features import OnElicit, OnSample
from bascule.core.outcome import FailureKind
from bascule.core.principal import Principal
from support import warm
from support.command import configured, environment
from support.offers import DONE, ELICIT, SAMPLE, command_of, offering, required
from support.runtime import Events, at_work, bad, calls_in, good, running, stand_in
from support.scenarios import log_of
from support.waiting import fail_after

ACCEPTED = {"action": "accept", "content": {"n": 3, "unit": "m"}}


async def old_answer(question: Any, **callbacks: Any) -> dict[str, Any]:
    """What a server of the old era gets for a question it asks in the middle of a call."""
    async with at_work(stand_in("it", "asking"), **callbacks) as session:
        order = {"ask": question["method"], "params": question["params"]}
        return good(await session.call("it_ask", order)).structured


async def new_answer(folder: Path, question: Any, **callbacks: Any) -> dict[str, Any]:
    """What a server of the new era gets for a question it answers a call with."""
    async with at_work(
        offering(folder, scenario={"tools/call": [required("s", q=question), DONE]}), **callbacks
    ) as session:
        good(await session.call("work_act"))
    return {"result": calls_in(log_of(folder))[-1]["inputResponses"]["q"]}


@pytest.fixture(params=["old", "new"])
def answer_to(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Asks in the words of one era."""

    async def ask(question: Any, on_elicit: OnElicit | None = None, on_sample: OnSample | None = None) -> Any:
        callbacks = {"on_elicit": on_elicit, "on_sample": on_sample}
        if request.param == "old":
            return await old_answer(question, **callbacks)
        return await new_answer(tmp_path, question, **callbacks)

    return ask


@pytest.mark.requirement("EXE-8")
async def test_a_person_is_asked_and_defaults_are_filled_in(answer_to: Any):
    asked: list[Elicitation] = []

    async def person(question: Elicitation) -> Accept:
        asked.append(question)
        return Accept({"n": 3})

    assert (await answer_to(ELICIT, person))["result"] == ACCEPTED
    assert (asked[0].principal, asked[0].message, asked[0].mode) == (Principal("alice", "s-1"), "How long?", "form")


@pytest.mark.requirement("EXE-8")
@pytest.mark.parametrize(
    ("said", "action"), [(Decline(), "decline"), (Cancel(), "cancel"), (Accept({"n": "x"}), "decline")]
)
async def test_a_no_and_an_answer_that_does_not_fit_tell_nothing(answer_to: Any, said: Any, action: str):
    assert (await answer_to(ELICIT, lambda _: said))["result"] == {"action": action}


@pytest.mark.requirement("EXE-8")
async def test_a_callback_that_breaks_declines(answer_to: Any):
    def broken(_: Elicitation) -> Accept:
        raise OSError("/home/alice/secret is gone")

    assert (await answer_to(ELICIT, broken))["result"] == {"action": "decline"}


@pytest.mark.requirement("EXE-8")
async def test_a_model_is_asked(answer_to: Any):
    def model(question: Sampling) -> Sampled:
        return Sampled(f"at most {question.params['maxTokens']}", "quill")

    result = (await answer_to(SAMPLE, on_sample=model))["result"]
    assert (result["content"], result["model"]) == ({"type": "text", "text": "at most 5"}, "quill")


@pytest.mark.requirement("EXE-8")
@pytest.mark.parametrize("question", [ELICIT, SAMPLE, {"method": "roots/list", "params": {}}])
async def test_without_callbacks_everything_is_refused_in_the_old_era(question: Any):
    assert (await old_answer(question))["error"]["code"] == -32601


@pytest.mark.requirement("EXE-8")
@pytest.mark.parametrize(("question", "words"), [(ELICIT, "on_elicit"), (SAMPLE, "on_sample")])
async def test_without_callbacks_a_call_that_asks_fails_and_says_what_to_do(tmp_path: Path, question: Any, words: str):
    server = offering(tmp_path, scenario={"tools/call": [required("s", q=question), DONE]})
    async with at_work(server) as session:
        failure = bad(await session.call("work_act"), FailureKind.DENIED)

    assert words in failure.fix
    assert len(calls_in(log_of(tmp_path))) == 1


@pytest.mark.requirement("EXE-8")
@pytest.mark.parametrize("callback", ["on_elicit", "on_sample"])
async def test_only_what_has_a_callback_is_declared(tmp_path: Path, callback: str):
    def answer(_: Any) -> Any:
        raise AssertionError

    callbacks: dict[str, Any] = {callback: answer}
    async with at_work(offering(tmp_path), **callbacks) as session:
        good(await session.call("work_act"))
    declared = calls_in(log_of(tmp_path))[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"]

    assert [*declared] == ["elicitation" if callback == "on_elicit" else "sampling"]


@pytest.mark.requirement("EXE-8")
async def test_a_server_that_never_stops_asking_ends_typed(tmp_path: Path, events: Events):
    server = offering(tmp_path, scenario={"tools/call": [required("s", q=ELICIT)]})
    async with at_work(server, events=events, on_elicit=lambda _: Accept({"n": 3})) as session:
        failure = bad(await session.call("work_act"), FailureKind.PROTOCOL_ERROR)

    assert "rounds" in failure.message
    assert len(events.calls) == 1
    assert {event.answer for event in events.answers} == {"accept"}


@pytest.mark.requirement("EXE-8")
async def test_each_session_is_asked_for_itself():
    asked: list[Principal] = []

    def person(question: Elicitation) -> Decline:
        asked.append(question.principal)
        return Decline()

    async with running(stand_in("it", "asking"), on_elicit=person) as runtime:
        for user in ("alice", "bob"):
            order = {"ask": ELICIT["method"], "params": ELICIT["params"]}
            good(await runtime.session(user, "s-1").call("it_ask", order))

    assert asked == [Principal("alice", "s-1"), Principal("bob", "s-1")]


@pytest.mark.requirement("EXE-8")
@pytest.mark.parametrize("make", [Runtime.from_env, Runtime.from_servers])
def test_every_way_to_a_runtime_takes_the_callbacks(make: Any):
    made = make(
        "NoSuchAgent" if make == Runtime.from_env else {}, on_elicit=lambda _: Decline(), on_sample=lambda _: None
    )
    assert isinstance(made, Runtime)


async def at_a_terminal(folder: Path, typed: str, *argv: str) -> tuple[int, str, str]:
    """The command with a person before it: its exit code, its output, and what the terminal showed."""
    ours, theirs = os.openpty()
    try:
        process = await asyncio.create_subprocess_exec(
            warm.bascule(),
            *argv,
            cwd=folder,
            env=environment(folder),
            stdin=theirs,
            stderr=theirs,
            stdout=asyncio.subprocess.PIPE,
        )
        os.close(theirs)
        os.write(ours, typed.encode())
        async with fail_after(60, "the command"):
            out, _ = await process.communicate()
        shown = os.read(ours, 65536).decode()
    finally:
        os.close(ours)
    assert process.returncode is not None
    return process.returncode, out.decode(), shown


@pytest.mark.requirement("EXE-8")
async def test_at_a_terminal_the_command_asks_the_person(tmp_path: Path):
    server = offering(tmp_path, scenario={"tools/call": [required("s", q=ELICIT), DONE]})
    file = configured(tmp_path, work=command_of(server))
    code, out, shown = await at_a_terminal(tmp_path, "y\n3\n\n", "call", "work_act", "--config", file)

    assert (code, out) == (0, "done\n")
    assert "work asks: How long?" in shown
    assert calls_in(log_of(tmp_path))[-1]["inputResponses"]["q"] == ACCEPTED
