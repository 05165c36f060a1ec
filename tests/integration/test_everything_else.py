"""The official example server in full: what it offers beside tools, and what it asks."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from bascule import Accept, AgentSession, Elicitation, Runtime, Sampled, Sampling
from bascule.config import ServerConfig, StdioTransport, Timeouts
from bascule.core.outcome import FailureKind
from support.peers import EVERYTHING
from support.runtime import bad, good, well
from support.waiting import fail_after
from support.without_npx import program

pytestmark = pytest.mark.asyncio(loop_scope="module")

TIMEOUTS = Timeouts(connect=90, probe=30, list=30, call=60)


def elicit(question: Elicitation) -> Accept:
    return Accept() if question.mode == "url" else Accept({"name": "Ada"})


def sample(question: Sampling) -> Sampled:
    return Sampled(f"{len(question.messages)} message", model="quill")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[AgentSession]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("BASCULE_HOME", str(tmp_path_factory.mktemp("everything")))
        command, *args = program(*EVERYTHING)
        server = ServerConfig("everything", StdioTransport(command, tuple(args)), timeouts=TIMEOUTS)
        async with fail_after(300, "the example server"):
            answering = Runtime.from_servers({"everything": server}, on_elicit=elicit, on_sample=sample)
            async with answering as runtime:
                made = runtime.session("alice", "s-1")
                await made.connect()
                yield made


@pytest.mark.long
async def test_resources_and_templates_are_listed_and_read(session: AgentSession):
    specs = {spec.address: spec for spec in await session.resources()}
    assert "demo://resource/dynamic/text/{resourceId}" in specs
    document = next(address for address in specs if address.endswith("architecture.md"))
    assert "Architecture" in well(await session.read(document)).text
    assert "Resource 7" in well(await session.read("demo://resource/dynamic/text/7")).text
    (blob,) = well(await session.read("demo://resource/dynamic/blob/7")).contents
    assert blob["blob"]


async def test_prompts_are_listed_filled_in_and_completed(session: AgentSession):
    names = {spec.name for spec in await session.prompts()}
    assert {"everything_simple-prompt", "everything_args-prompt", "everything_completable-prompt"} <= names
    assert "Paris" in well(await session.prompt("everything_args-prompt", {"city": "Paris"})).text
    departments = well(await session.complete("everything_completable-prompt", "department", "E"))
    assert departments.values == ("Engineering",)
    known = {"department": "Engineering"}
    members = well(await session.complete("everything_completable-prompt", "name", "", known))
    assert members.values


async def test_a_person_and_a_model_are_asked(session: AgentSession):
    asked = good(await session.call("everything_trigger-elicitation-request"))
    assert "Name: Ada" in asked.text
    assert "Favorite Integer: 42" in asked.text
    sampled = good(await session.call("everything_trigger-sampling-request", {"prompt": "hi"}))
    assert "1 message" in sampled.text


async def test_an_address_to_go_to_is_shown_in_either_way(session: AgentSession):
    given = {"url": "https://example.test/in", "message": "Please log in"}
    assert "accept" in good(await session.call("everything_trigger-url-elicitation", given)).text.lower()
    first = {**given, "errorPath": True}
    failure = bad(await session.call("everything_trigger-url-elicitation", first), FailureKind.TOOL_ERROR)
    assert failure.tool_code == -32042
    assert "https://modelcontextprotocol.io" in failure.evidence
    assert "open the address" in failure.fix
