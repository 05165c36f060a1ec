"""What every transport promises about resources, prompts, completions and the questions of servers, in both eras."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from bascule import Accept, Decline, Elicitation, Runtime, Sampled, Sampling, ToolFailure
from bascule.config import RuntimeConfig
from bascule.core.client_features import ElicitAnswer
from bascule.core.outcome import FailureKind
from contracts.harness import SDK_CELLS, SECOND_OPINIONS, Cell, Peer, peer_of
from support.waiting import fail_after

pytestmark = pytest.mark.asyncio(loop_scope="module")

CELLS = SDK_CELLS + SECOND_OPINIONS


class Person:
    """Answers as told, and remembers what was asked."""

    def __init__(self) -> None:
        self.answer: ElicitAnswer = Decline()
        self.asked: list[Elicitation] = []
        self.written: list[Sampling] = []

    async def elicit(self, question: Elicitation) -> ElicitAnswer:
        self.asked.append(question)
        return self.answer

    def sample(self, question: Sampling) -> Sampled:
        self.written.append(question)
        return Sampled("The bridge is up", model="quill")


class Table:
    """A peer, an agent session whose program answers questions, and one whose does not."""

    def __init__(self, peer: Peer, answering: Runtime, silent: Runtime, person: Person) -> None:
        self.peer, self.person = peer, person
        self.session = answering.session("alice", "s-1")
        self.silent = silent.session("alice", "s-1")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CELLS, ids=str)
async def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Table]:
    cell: Cell = request.param
    store = str(tmp_path_factory.mktemp("contract") / "store.db")
    person = Person()
    async with fail_after(300, "the contract"), peer_of(cell) as peer:
        config = RuntimeConfig({"peer": peer.config}, store=store)
        answering = Runtime(config, on_elicit=person.elicit, on_sample=person.sample)
        async with answering, Runtime(config) as silent:
            made = Table(peer, answering, silent, person)
            await made.session.connect()
            await made.silent.connect()
            yield made


def well(outcome: Any) -> Any:
    assert outcome.ok, outcome
    return outcome


def said(outcome: Any) -> str:
    return well(outcome).structured["result"]


def failure(outcome: Any) -> ToolFailure:
    assert isinstance(outcome, ToolFailure), outcome
    return outcome


async def test_resources_and_templates_are_listed(table: Table):
    specs = {spec.address: spec for spec in await table.session.resources()}
    index, template = specs["notes://index"], specs["notes://{day}"]
    assert (index.server, index.kind, index.mime_type) == ("peer", "resource", "text/plain")
    assert (template.kind, template.name, template.description) == ("template", "read_note", "One note.")
    assert all(spec.digest.startswith("sha256:") for spec in specs.values())


async def test_a_resource_is_read_by_its_uri(table: Table):
    outcome = well(await table.session.read("notes://index"))
    assert (outcome.text, outcome.server, outcome.uri) == ("monday tuesday", "peer", "notes://index")


async def test_a_uri_that_fits_a_template_is_read(table: Table):
    assert well(await table.session.read("notes://tuesday")).text == "The bridge is up."


async def test_a_uri_nobody_lists_can_be_read_of_a_named_server(table: Table):
    failed = failure(await table.session.read("other://x", server="peer"))
    assert failed.kind is FailureKind.TOOL_ERROR
    assert failure(await table.session.read("other://x")).kind is FailureKind.UNKNOWN_TOOL


async def test_prompts_are_listed_with_their_arguments_and_filled_in(table: Table):
    (spec,) = await table.session.prompts()
    assert (spec.name, spec.description) == ("peer_greet", "Greet somebody.")
    assert [(blank.name, blank.required) for blank in spec.arguments] == [("name", True), ("manner", False)]
    outcome = well(await table.session.prompt("peer_greet", {"name": "Ada"}))
    assert outcome.messages[0]["content"]["text"] == "Greet Ada warmly."
    missing = failure(await table.session.prompt("peer_greet", {"manner": "coldly"}))
    assert "missing argument 'name'" in missing.message


async def test_arguments_are_completed(table: Table):
    blank = well(await table.session.complete("notes://{day}", "day", "mon"))
    assert (blank.values, blank.total, blank.has_more) == (("monday",), 1, False)
    argument = well(await table.session.complete("peer_greet", "name", "x", {"manner": "coldly"}))
    assert argument.values == ("manner",)


async def test_an_accepted_question_is_answered_with_the_defaults_filled_in(table: Table):
    table.person.answer = Accept({"colour": "blue"})
    table.person.asked.clear()
    assert said(await table.session.call("peer_ask")) == "pale blue"
    (question,) = table.person.asked
    assert (question.server, question.principal, question.message) == ("peer", table.session.principal, "Which colour?")
    assert set(question.schema["properties"]) == {"colour", "shade"}


async def test_a_declined_question_is_declined(table: Table):
    table.person.answer = Decline()
    assert said(await table.session.call("peer_ask")) == "decline"


async def test_an_answer_that_does_not_fit_is_not_sent(table: Table):
    table.person.answer = Accept({"colour": "ultraviolet"})
    assert said(await table.session.call("peer_ask")) == "decline"


async def test_a_model_is_asked_for_words(table: Table):
    table.person.written.clear()
    assert said(await table.session.call("peer_write")) == "The bridge is up (quill)"
    (question,) = table.person.written
    assert question.messages[0]["content"]["text"] == "A line, please."


@pytest.mark.parametrize("tool", ["ask", "write"])
async def test_without_callbacks_nothing_is_offered_and_the_call_fails(table: Table, tool: str):
    failed = failure(await table.silent.call(f"peer_{tool}"))
    assert failed.kind in {FailureKind.TOOL_ERROR, FailureKind.DENIED}
    assert well(await table.silent.call("peer_echo", {"message": "still here"})).text
