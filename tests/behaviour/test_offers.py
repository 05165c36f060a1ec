"""Resources, templates, prompts and completions: the same session, the same path, the same rules as tools."""

from pathlib import Path
from typing import Any

import pytest

from bascule import CompletionResult, PromptResult, ResourceResult, Runtime
from bascule.core.events import RequestEnded
from bascule.core.outcome import FailureKind
from support.command import bascule, configured
from support.offers import capable, command_of, offering, result
from support.runtime import Events, at_work, bad, good, running, well
from support.scenarios import log_of
from support.servers import methods

PATH = ["resolve", "validate", "decide", "lease", "send", "read"]
GREET: dict[str, Any] = {"name": "greet", "arguments": [{"name": "who", "required": True}]}


@pytest.mark.requirement("CAT-9")
async def test_a_session_lists_and_uses_what_servers_offer_beside_tools(tmp_path: Path, events: Events):
    server = offering(tmp_path, uris=("a://1",), templates=("a://{n}",), prompts=(GREET,))
    async with at_work(server, events=events) as session:
        resources, prompts = await session.resources(), await session.prompts()
        outcomes = [
            await session.read("a://1"),
            await session.read("a://2"),
            await session.prompt("work_greet", {"who": "Ada"}),
            await session.complete("work_greet", "who", "A"),
        ]

    assert [(spec.server, spec.kind) for spec in resources] == [("work", "resource"), ("work", "template")]
    assert [(spec.name, spec.arguments[0].name) for spec in prompts] == [("work_greet", "who")]
    assert [type(outcome) for outcome in outcomes] == [ResourceResult] * 2 + [PromptResult, CompletionResult]
    assert all([*outcome.steps] == PATH for outcome in outcomes)
    assert [event.outcome for event in events if isinstance(event, RequestEnded)][-4:] == outcomes


@pytest.mark.requirement("CAT-9", "EXE-1")
async def test_every_request_leaves_one_event_whichever_way_it_ends(tmp_path: Path, events: Events):
    server = offering(tmp_path, uris=("a://1",), prompts=(GREET,), scenario={"resources/read": [result(contents=7)]})
    async with at_work(server, events=events) as session:
        await session.library()
        before = len(events.requests)
        bad(await session.read("a://1"), FailureKind.PROTOCOL_ERROR)
        bad(await session.read("b://1"), FailureKind.UNKNOWN_TOOL)
        bad(await session.prompt("work_greet"), FailureKind.INVALID_ARGUMENTS)
        bad(await session.prompt("work_nothing"), FailureKind.UNKNOWN_TOOL)
        bad(await session.read("a://1", timeout=-1), FailureKind.INVALID_ARGUMENTS)

    told = [(event.method, event.subject, event.outcome.ok) for event in events.requests[before:]]
    assert told == [
        ("resources/read", "a://1", False),
        ("resources/read", "b://1", False),
        ("prompts/get", "work_greet", False),
        ("prompts/get", "work_nothing", False),
        ("resources/read", "a://1", False),
    ]


@pytest.mark.requirement("CAT-9")
async def test_which_server_a_uri_is_of_is_never_guessed(tmp_path: Path):
    one = offering(tmp_path, name="one", templates=("a://{n}",))
    two = offering(tmp_path, name="two", templates=("a://{n}",), uris=("b://1",))
    async with at_work(one, two) as session:
        failure = bad(await session.read("a://1"), FailureKind.UNKNOWN_TOOL)
        assert well(await session.read("a://1", server="two")).text == "of two"
        assert well(await session.read("b://1")).server == "two"

    assert "could be of one or two" in failure.message


@pytest.mark.requirement("CAT-9")
async def test_a_server_is_asked_only_for_what_it_says_it_has(tmp_path: Path):
    server = offering(tmp_path, scenario={"server/discover": [capable()]})
    async with at_work(server) as session:
        assert (await session.resources(), await session.prompts()) == ((), ())
        bad(await session.read("a://1", server="work"), FailureKind.INVALID_ARGUMENTS)
        good(await session.call("work_act"))

    assert set(methods(log_of(tmp_path))) == {"server/discover", "tools/list", "tools/call"}


@pytest.mark.requirement("CAT-9", "CAT-3")
async def test_what_is_offered_has_digests_and_a_change_is_told(tmp_path: Path, events: Events):
    digests: list[str] = []
    for words in ("Greets.", "Greets, and sends your files away."):
        async with at_work(offering(tmp_path, prompts=({**GREET, "description": words},)), events=events) as session:
            (spec,) = await session.prompts()
            digests.append(spec.digest)

    assert digests[0] != digests[1]
    changed = [event for event in events if getattr(event, "kind", "") == "prompts"]
    assert [(event.added, event.changed) for event in changed] == [(("greet",), ()), ((), ("greet",))]


@pytest.mark.requirement("CAT-9")
async def test_secrets_stay_out_of_what_a_server_says_about_a_resource(tmp_path: Path):
    error = {"error": {"code": -32002, "message": "bad token tok-3n-very-secret"}}
    server = offering(tmp_path, scenario={"resources/read": [error]})
    command = {**command_of(server), "env": {"TOKEN": "tok-3n-very-secret"}}
    file = configured(tmp_path, work=command)
    async with Runtime.from_file(file) as runtime:
        failure = bad(await runtime.session("alice", "s-1").read("a://1", server="work"), FailureKind.TOOL_ERROR)

    assert failure.message == "bad token ***"


@pytest.mark.requirement("CAT-9")
@pytest.mark.long
async def test_the_command_lists_reads_and_fills_in(tmp_path: Path):
    server = offering(tmp_path, uris=("a://1",), prompts=(GREET,))
    file = configured(tmp_path, work=command_of(server))
    listed = await bascule(tmp_path, "list", "--resources", "--prompts", "--json", "--config", file)
    read = await bascule(tmp_path, "read", "a://1", "--config", file)
    filled = await bascule(tmp_path, "prompt", "work_greet", "who=Ada", "--json", "--config", file)
    unknown = await bascule(tmp_path, "prompt", "work_great", "--config", file)

    assert [spec["uri"] for spec in listed.json["resources"]] == ["a://1"]
    assert [spec["name"] for spec in listed.json["prompts"]] == ["work_greet"]
    assert (read.code, read.out) == (0, "of work\n")
    assert (filled.code, [*filled.json["steps"]]) == (0, PATH)
    assert unknown.code == 2
    assert "did you mean work_greet" in unknown.err


@pytest.mark.requirement("CAT-9")
async def test_sessions_do_not_share_what_was_listed_for_one_of_them(tmp_path: Path):
    async with running(offering(tmp_path, uris=("a://1",))) as runtime:
        for user in ("alice", "bob"):
            assert len(await runtime.session(user, "s-1").resources()) == 1

    assert methods(log_of(tmp_path)).count("resources/list") == 2
